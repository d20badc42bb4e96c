"""The files that GitHub shows to those who want to take part: valid, and generated ones current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from commands import run_command  # isort: skip
import sys

ROOT = Path(__file__).parents[3]
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def test_code_owners_are_the_maintainers_of_the_device_files() -> None:
    printed = run_command([str(Path(sys.executable).with_name("ootci")), "device", "owners"], ROOT)
    assert printed.code == 0, printed.err
    assert (ROOT / ".github" / "CODEOWNERS").read_text(encoding="utf-8") == printed.out, "run `make owners`"


@pytest.mark.parametrize("path", [path for path in TEMPLATES if path.name != "config.yml"], ids=lambda path: path.stem)
def test_an_issue_form_has_what_github_asks_for(path: Path) -> None:
    """Source: GitHub's documentation, "Syntax for issue forms" and "Syntax for GitHub's form schema"."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys() <= {"name", "description", "labels", "body", "title"}
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids)) > 0
    for field in form["body"]:
        assert field["type"] in {"textarea", "input", "dropdown", "checkboxes"}
        assert field["attributes"]["label"]


def test_the_citation_names_what_the_package_says() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= cited.keys()
    assert f'license = "{cited["license"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_readme_s_badges_are_of_workflows_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    badges = re.findall(r"\]\(\.\./\.\./actions/workflows/([\w.-]+)(?:/badge\.svg)?\)", text)
    assert {"ci.yml", "nightly.yml"} <= set(badges)
    assert all((ROOT / ".github" / "workflows" / name).is_file() for name in badges)
