"""A device file that is wrong says what, on which line, and what to do; never a traceback, never a wrong value."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.model.device_files import GOOD, NEXT, line_of, loaded, refused

from ootci.errors import (
    DeviceFileDuplicateKey,
    DeviceFileInvalid,
    DeviceFileMisnamed,
    DeviceFileSyntax,
    DeviceFileTooComplex,
    DeviceFileTooLarge,
    DeviceFileUnreadable,
    InputError,
)
from ootci.model.device import load_device
from ootci.model.strict_yaml import MAX_BYTES


def test_a_mistyped_key_is_told_before_what_is_missing_because_of_it(tmp_path: Path) -> None:
    text = GOOD.replace("maintainers:", "maintaners:").replace("plugin:", "plugn:")
    (tmp_path / "dev.yaml").write_text(text + "tier: golden\n", encoding="utf-8")
    with pytest.raises(DeviceFileInvalid) as told:
        load_device(tmp_path / "dev.yaml")
    assert [error.alone for error in (told.value, *told.value.others)] == [
        "unknown key `maintaners`; did you mean `maintainers`?",
        "unknown key `plugn`; did you mean `plugin`?",
        "`tier` must be one of `reference`, `gating`, `advisory`, not the text 'golden'",
    ]


@pytest.mark.parametrize(
    ("appended", "what"),
    [
        ("teir: gating", "unknown key `teir`; did you mean `tier`?"),
        ("torch: {chanel: nightly}", "unknown key `torch.chanel`; did you mean `channel`?"),
        ("runner: {label: [x]}", "unknown key `runner.label`; did you mean `labels`?"),
        ("suites: [{name: smoke, requierd: false}]", "unknown key `suites[0].requierd`; did you mean `required`?"),
        ("qqq: 1", "unknown key `qqq`"),
        ("<<: {tier: gating}", "unknown key `<<`"),
        ("1: x", "unknown key `1`"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_one(tmp_path: Path, appended: str, what: str) -> None:
    error = refused(tmp_path, f"{GOOD}{appended}\n", DeviceFileInvalid)
    assert error.what == what
    assert line_of(error) == NEXT


@pytest.mark.parametrize(
    ("appended", "what"),
    [
        ("tier: big", "`tier` must be one of `reference`, `gating`, `advisory`, not the text 'big'"),
        ("check: {command: [smi, '|', grep, ok]}", "`check.command`: no shell runs it, and `|` is for a shell"),
        ("check: {command: [smi | grep ok]}", "`check.command`: no shell runs it, and `smi | grep ok` is for a shell"),
        ("torch: {channel: weekly}", "`torch.channel` must be one of `nightly`, `release`, not the text 'weekly'"),
        ("torch: {fallback: no}", "`torch.fallback` must be one of `release`, `none`, not the yes/no false"),
        (
            "limits: {job_minutes: '5'}",
            "`limits.job_minutes` must be a whole number, at least 1, at most 1440, not the text '5'",
        ),
        (
            "limits: {job_minutes: yes}",
            "`limits.job_minutes` must be a whole number, at least 1, at most 1440, not the yes/no true",
        ),
        (
            "limits: {job_minutes: 2.5}",
            "`limits.job_minutes` must be a whole number, at least 1, at most 1440, not the number 2.5",
        ),
        (
            "limits: {job_minutes: 1e3}",
            "`limits.job_minutes` must be a whole number, at least 1, at most 1440, not the text '1e3'",
        ),
        (
            "limits: {job_minutes: .inf}",
            "`limits.job_minutes` must be a whole number, at least 1, at most 1440, not the number inf",
        ),
        (
            "limits: {job_minutes:}",
            "`limits.job_minutes` must be a whole number, at least 1, at most 1440, not nothing",
        ),
        ("limits: {workers: many}", "`limits.workers`: write a whole number from 1 to 64, or auto"),
        ("limits: {workers: 0}", "`limits.workers`: write a whole number from 1 to 64, or auto"),
        ("limits: {workers: yes}", "`limits.workers`: write a whole number from 1 to 64, or auto"),
        (
            "suites: [{name: smoke, required: 'true'}]",
            "`suites[0].required` must be `true` or `false`, not the text 'true'",
        ),
        ("suites: [{name: smoke, required: 1}]", "`suites[0].required` must be `true` or `false`, not the number 1"),
        ("environment: {A: yes}", "`environment.A` must be text, not the yes/no true"),
        ("environment: {A: 5}", "`environment.A` must be text, not the number 5"),
        ("environment: {1A: x}", "`environment.1A` must be the name of an environment variable"),
        (
            "runner: {labels: x}",
            "`runner.labels` must be a list of entries, each a runner label of letters, digits and `_.:-`, not",
        ),
        ("runner: {labels: [a b]}", "`runner.labels[0]` must be a runner label"),
        ("runner: {shares: 0}", "`runner.shares` must be a whole number, at least 1"),
        ("runner: {container: {options: --init}}", "the required key `runner.container.image` is missing"),
        ("runner: {container: {image: ''}}", "`runner.container.image` must be the name of a container image"),
        ("runner: {container: {image: x, volumes: [/a]}}", "`runner.container.volumes[0]` must be a volume such as"),
        ("python: 3.10", '`python`: write a version in quotation marks, 3.10 or newer, such as "3.12"'),
        ("python: '3.9'", "`python`: write a version in quotation marks"),
        ("python: '3.12.1'", "`python`: write a version in quotation marks"),
        ("check: {command: ls}", "`check.command` must be a list of texts, not the text 'ls'"),
        (
            "links: {homepage: 'javascript:alert(1)'}",
            "`links.homepage` must be an address that begins with http:// or https://",
        ),
        (
            "limits: {job_minutes: 0}",
            "`limits.job_minutes` must be a whole number, at least 1, at most 1440, not the number 0",
        ),
        ("suites: []", "`suites` must have at least 1 entry, not 0"),
        ("paused: true", "`paused`"),
        ("suites: [{name: smoke, required: false}]", "every suite is advisory"),
        ("suites: [{name: smoke}, {name: smoke}]", "a suite is named twice"),
        ("suites: [{name: smoke, dtypes: [int64]}]", "`dtypes` are chosen for the suite `ops`"),
        ("suites: [{name: ops, files: [test_a.py]}]", "`files` is for the suite `upstream`"),
        ("suites: [{name: smoke, bypass_device_restrictions: true}]", "is for the suite `upstream`"),
        ("suites: [{name: upstream, files: [../test_a.py]}]", "must be a test file relative to PyTorch's folder"),
        ("suites: [{name: upstream, operators: [add, add]}]", "an entry is named twice in `operators`"),
        ("suites: [{name: upstream, operators: []}]", "`suites[0].operators` must have at least 1 entry, not 0"),
        ("suites: [{name: upstream, exclusions: {TestA: all}}]", 'write "*" for the whole class, or a list'),
        ("suites: [{name: upstream, exclusions: {TestA: [a-b]}}]", "or a list of its methods"),
        ("suites: [{name: ops, dtypes: [int64, int64]}]", "a dtype is named twice"),
        ("suites: [{name: ops, dtypes: [int7]}]", "`suites[0].dtypes[0]`"),
        ("suites: [{name: ops, dtypes: []}]", "`suites[0].dtypes` must have at least 1 entry, not 0"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_found(tmp_path: Path, appended: str, what: str) -> None:
    error = refused(tmp_path, f"{GOOD}{appended}\n", DeviceFileInvalid)
    assert what in error.what
    assert line_of(error) == NEXT


CONTAINER = "runner: {container: {image: x, credentials: {username: %s, password: %s}}}"
BUILDER = f"build: {{{CONTAINER.replace('{', '{labels: [x], ', 1)}}}"
OWN = "DEV_REGISTRY_USERNAME", "DEV_REGISTRY_PASSWORD"


@pytest.mark.parametrize("value", ["'hunter2'", "ghp_16C7e42F", "'12345678'", "12345678", "'${{ secrets.A }}'"])
@pytest.mark.parametrize("key", [0, 1])
def test_a_password_in_a_device_file_is_refused_and_not_repeated(tmp_path: Path, value: str, key: int) -> None:
    given = [*OWN]
    given[key] = value
    error = refused(tmp_path, f"{GOOD}{CONTAINER % tuple(given)}\n", DeviceFileInvalid)
    assert "write the name of a secret of the repository" in error.what
    assert value.strip("'") not in str(error)
    assert line_of(error) == NEXT


@pytest.mark.parametrize(
    ("appended", "what"),
    [
        (CONTAINER % ("DEV_REGISTRY_USERNAME", "OTHER_REGISTRY_PASSWORD"), "which begin with DEV_REGISTRY_"),
        (CONTAINER % ("DEPLOY_KEY", "DEV_REGISTRY_PASSWORD"), "which begin with DEV_REGISTRY_"),
        (CONTAINER % ("GITHUB_TOKEN", "DEV_REGISTRY_PASSWORD"), "write the name of a secret of the repository"),
        (f"{BUILDER % OWN}\n{CONTAINER % (OWN[0], OWN[0])}", "name the same"),
        (f"{CONTAINER % OWN}\npull_requests: true", "a stranger's code gets no secret"),
    ],
)
def test_a_device_names_secrets_of_its_own_and_gives_them_to_no_stranger(
    tmp_path: Path, appended: str, what: str
) -> None:
    assert what in refused(tmp_path, f"{GOOD}{appended}\n", DeviceFileInvalid).what


def test_what_builds_and_what_tests_may_name_one_pair(tmp_path: Path) -> None:
    named = loaded(tmp_path, f"{GOOD}{CONTAINER % OWN}\n{BUILDER % OWN}\n").credentials
    assert named is not None
    assert (named.username, named.password) == OWN


def test_a_list_with_one_wrong_item_is_one_problem(tmp_path: Path) -> None:
    error = refused(tmp_path, GOOD.replace("@somebody", "somebody"), DeviceFileInvalid)
    assert "maintainers[0]" in error.what
    assert "more" not in error.what
    assert line_of(error) == 4


def test_missing_keys_are_all_named(tmp_path: Path) -> None:
    error = refused(tmp_path, "name: dev\nplugin:\n  path: x\n", DeviceFileInvalid)
    assert isinstance(error, DeviceFileInvalid)
    said = [one.alone for one in (error, *error.others)]
    for key in ("display_name", "vendor", "maintainers", "plugin.distribution"):
        assert f"the required key `{key}` is missing" in said


def test_a_key_that_is_missing_deep_down_points_to_its_parent(tmp_path: Path) -> None:
    error = refused(tmp_path, GOOD.replace("  distribution: torch-dev\n", ""), DeviceFileInvalid)
    assert error.what == "the required key `plugin.distribution` is missing"
    assert line_of(error) == 5


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ("path: x\n  package: y", "`path` and `package`"),
        ("path: x\n  git: {url: ./y}\n  package: z", "`path` and `git` and `package`"),
        ("requirements: []", "none of them"),
    ],
)
def test_a_plugin_has_exactly_one_source(tmp_path: Path, sources: str, found: str) -> None:
    error = refused(tmp_path, GOOD.replace("path: dev", sources), DeviceFileInvalid)
    assert "exactly one of `path`, `git` and `package`" in error.what
    assert error.what.endswith(f"found {found}")


def test_a_device_of_pytorch_itself_is_none_out_of_its_tree(tmp_path: Path) -> None:
    error = refused(tmp_path, GOOD.replace("name: dev\n", "name: cuda\n", 1), DeviceFileInvalid)
    assert "`cuda` is a device of PyTorch itself" in error.what


@pytest.mark.parametrize("command", ["[sh, -c, 'smi | grep ok']", "[/opt/my tools/smi, --list]"])
def test_a_command_may_be_a_line_for_a_shell_that_it_names(tmp_path: Path, command: str) -> None:
    assert loaded(tmp_path, f"{GOOD}check: {{command: {command}}}\n").check.command


@pytest.mark.parametrize("path", ["../x", "a/../../x", "..", "/etc", "../../../x"])
@pytest.mark.parametrize("top", ["", "ci"])
def test_a_plugin_never_lies_outside_its_checkout(tmp_path: Path, top: str, path: str) -> None:
    """Outside git that is the device file's folder."""
    if top:
        (tmp_path / ".git").mkdir()
        path = path if path.startswith("/") else f"../{path}"
    folder = tmp_path / top
    folder.mkdir(exist_ok=True)
    assert "plugin.path" in refused(folder, GOOD.replace("path: dev", f"path: {path}"), DeviceFileInvalid).what


def test_a_device_file_may_lie_anywhere_in_its_checkout(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")  # as in a worktree
    folder = tmp_path / "ci" / "devices"
    folder.mkdir(parents=True)
    assert loaded(folder, GOOD.replace("path: dev", "path: ../..")).plugin.path == "../.."


@pytest.mark.parametrize(
    ("text", "key", "first", "second"),
    [
        (f"{GOOD}name: other\n", "name", 1, NEXT),
        (
            f"{GOOD}links:\n  source: https://a\n  homepage: https://b\n  source: https://c\n",
            "source",
            NEXT + 1,
            NEXT + 3,
        ),
        (f"{GOOD}suites:\n  - name: smoke\n    name: integration\n", "name", NEXT + 1, NEXT + 2),
    ],
)
def test_the_same_key_twice_is_found_at_any_depth(tmp_path: Path, text: str, key: str, first: int, second: int) -> None:
    error = refused(tmp_path, text, DeviceFileDuplicateKey)
    assert error.what == f"the key `{key}` is there twice, first on line {first}"
    assert line_of(error) == second


@pytest.mark.parametrize(
    ("appended", "offset"),
    [
        ("links: {source: https://a\n", 1),
        ("links:\n\tsource: https://a\n", 1),
        ("description: a: b\n", 0),
        ("description: 'open\n", 1),
        ("---\nname: second\n", 0),
        ("description: *nowhere\n", 0),
        ("description: !!python/object/apply:os.system [x]\nvendor2: x\n", None),
        ("? [a]\n: b\n", 0),
        ("description: !!python/name:os.system\n", 0),
    ],
)
def test_broken_yaml_names_its_line(tmp_path: Path, appended: str, offset: int | None) -> None:
    kind = DeviceFileSyntax if offset is not None else DeviceFileInvalid
    error = refused(tmp_path, GOOD + appended, kind)
    if offset is not None:
        assert line_of(error) == NEXT + offset


@pytest.mark.parametrize("number", ["010", "0x10", "0b11", "1:30", "1_0", "0o7"])
def test_a_number_that_yaml_reads_in_another_base_is_refused(tmp_path: Path, number: str) -> None:
    path = tmp_path / "dev.yaml"
    path.write_text(f"{GOOD}limits: {{job_minutes: {number}}}\n", encoding="utf-8")
    with pytest.raises((DeviceFileSyntax, DeviceFileInvalid)) as caught:
        load_device(path)
    assert number in caught.value.what
    assert line_of(caught.value) == NEXT


@pytest.mark.parametrize("written", ["2026-01-01", "1e3", "1.2.3", "2026-01-01 10:00:00"])
def test_text_that_looks_like_something_else_stays_as_it_was_written(tmp_path: Path, written: str) -> None:
    assert loaded(tmp_path, f"{GOOD}environment: {{A: {written}}}\n").environment == {"A": written}


@pytest.mark.parametrize(
    ("appended", "kind", "what"),
    [
        *(
            (f'environment: {{A: "a{code}b"}}'.encode(), DeviceFileSyntax, "U+")
            for code in (r"\0", r"\e", r"\ud800", r"\x7f")
        ),
        *((b"description: a" + raw + b"b", DeviceFileSyntax, f"U+{raw[0]:04X}") for raw in (b"\x00", b"\x07", b"\x1b")),
        (b"description: caf\xe9", DeviceFileUnreadable, "not UTF-8"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, appended: bytes, kind: type[InputError], what: str) -> None:
    error = refused(tmp_path, GOOD.encode() + appended + b"\n", kind)
    assert what in error.what
    assert line_of(error) == NEXT


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "dev.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load_device(tmp_path / "dev.yaml").device.name == "dev"


@pytest.mark.parametrize(("text", "what"), [("", "no keys"), ("# only this\n", "no keys"), ("- a\n", "not a mapping")])
def test_a_file_without_keys_says_where_to_start(tmp_path: Path, text: str, what: str) -> None:
    error = refused(tmp_path, text, DeviceFileInvalid)
    assert what in error.what
    assert "openreg.yaml" in error.fix


def test_missing_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(DeviceFileUnreadable, match="no such file"):
        load_device(tmp_path / "gone.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(DeviceFileUnreadable, match="not a regular file"):
        load_device(tmp_path / "folder.yaml")


def test_a_file_is_no_larger_than_a_device_file_can_be(tmp_path: Path) -> None:
    filler = "#" * (MAX_BYTES - len(GOOD) - 1) + "\n"
    assert loaded(tmp_path, GOOD + filler).name == "dev"
    assert "64 KiB" in refused(tmp_path, GOOD + "#" + filler, DeviceFileTooLarge).what


def test_aliases_cannot_expand_without_limit(tmp_path: Path) -> None:
    # Five levels: enough to exceed the limit by far, few enough to end soon if there were none.
    levels = [f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in zip("abcd", "bcde", strict=True)]
    text = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(levels) + "\n"
    assert "expands to more than" in refused(tmp_path, text, DeviceFileTooComplex).what


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: " + "[" * 30 + "]" * 30 + "\n", "a: " + "[" * 20_000])
def test_depth_is_bounded(tmp_path: Path, text: str) -> None:
    assert "nests deeper" in refused(tmp_path, text, DeviceFileTooComplex).what


@pytest.mark.parametrize("name", ["other.yaml", "dev.yml", "Dev.yaml"])
def test_file_and_device_have_the_same_name(tmp_path: Path, name: str) -> None:
    error = refused(tmp_path, GOOD, DeviceFileMisnamed, name)
    assert name in error.what
    assert "rename the file to dev.yaml" in error.fix
    assert line_of(error) == 1


@pytest.mark.parametrize("name", ["../x", "X", "a-b", "1a", "", "a b", "a" * 40])
def test_a_name_is_one_that_torch_and_every_file_system_takes(tmp_path: Path, name: str) -> None:
    assert "`name`" in refused(tmp_path, GOOD.replace("name: dev", f"name: '{name}'", 1), DeviceFileInvalid).what
