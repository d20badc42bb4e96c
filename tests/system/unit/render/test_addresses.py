"""Which addresses become links, and what a nightly's folder is called."""

from __future__ import annotations

import pytest

from ootci.stages.render.links import folder_name, github_handle, pytorch_commit, web_address


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt://example.com/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "file:///etc/passwd",
        "ftp://example.com/",
        "//example.com/",
        "/etc/passwd",
        "https://",
        "https://user@example.com/",
        "https://exa mple.com/",
        'https://example.com/"onmouseover="alert(1)',
        "https://example.com/\n",
        "https://[::1",
        "http://" + "a" * 3000,
        "",
    ],
)
def test_what_is_not_a_plain_web_address_is_no_link(address: str) -> None:
    assert web_address(address) is None


def test_web_addresses_are_links() -> None:
    assert web_address("https://example.com/a?b=c#d") == "https://example.com/a?b=c#d"
    assert web_address(None) is None


def test_only_a_full_commit_leads_to_pytorch() -> None:
    assert pytorch_commit("a" * 40) == "https://github.com/pytorch/pytorch/commit/" + "a" * 40
    for other in (None, "", "a" * 39, "A" * 40, "a" * 40 + "\n", "../../evil/evil/commit/" + "a" * 40, "Unknown"):
        assert pytorch_commit(other) is None


def test_handles_of_people_and_teams() -> None:
    assert github_handle("@someone") == "https://github.com/someone"
    assert github_handle("@org/team") == "https://github.com/orgs/org/teams/team"


def test_a_nightly_that_could_not_be_a_folder_gets_a_digest() -> None:
    assert folder_name("20261121-0410-9d1e") == "20261121-0410-9d1e"
    odd = ["../../etc", "a/b", ".hidden", "", "x" * 200, "a b", "\ud800", "index.html"]
    names = [folder_name(name) for name in odd]
    assert len(set(names)) == len(odd)
    assert all(name.startswith("night-") and "/" not in name for name in names)
