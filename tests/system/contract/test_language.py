"""The language lint finds what it is for; `make lint` runs it over the repository."""

from __future__ import annotations

import language
import pytest


@pytest.mark.parametrize(
    ("prose", "wording"),
    [
        ("The remedy stands in the file.", "stands"),
        ("Failures that are alike are one cluster.", "alike"),
        ("How many tests came to which\noutcome.", "came to"),
        ("The report can\nsay nothing.", "say nothing"),
        ("It is built\nanew.", "anew"),
    ],
)
def test_a_wording_is_found_in_prose_docstrings_and_comments(prose: str, wording: str) -> None:
    comment = "".join(f"# {line}\n" for line in prose.split("\n"))
    for text, suffix in ((prose, ".md"), (f'"""{prose}"""\n', ".py"), (f"x = 1\n{comment}", ".py"), (comment, ".yml")):
        found = list(language.findings(text, suffix))
        assert len(found) == 1
        assert f"“{wording}”" in found[0][1]


def test_code_and_plain_sentences_are_not_found() -> None:
    assert not list(language.findings("`run anew` is an option.\n\n```console\nrun anew\n```\n", ".md"))
    assert not list(language.findings('TEXT = "`it stands anew`"\n', ".py"))
    assert not list(language.findings("The asterisk stands for any text.", ".md"))


def test_a_finding_names_its_line_and_better_words() -> None:
    assert list(language.findings("fine\n\nbuilt anew\n", ".md")) == [(3, "“anew”: again; of a failure: new")]


def test_templates_and_texts_that_people_see_are_read() -> None:
    text = 'raise Problem(f"{name}: built anew")\n'
    assert [line for line, _ in language.findings(text, ".py")] == [1]
    assert [line for line, _ in language.findings("{% if anew %}\n<p>built\nanew</p>", ".html")] == [3]
    assert [line for line, _ in language.findings("<b>built anew</b> <code>anew</code>", ".html")] == [1]
