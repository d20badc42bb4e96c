"""What differs from run to run leaves a line of text, and what names the failure stays."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ootci.history.normalise import MAX_LINE, normalise


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("<object at 0x7fc85a05d120>", "<object at <address>>"),
        ("Tried to allocate 2.50 GiB. GPU 0 has 79.15GiB", "Tried to allocate <n>. GPU <n> has <n>"),
        ("took 0.043 s of 10 min (99.3%)", "took <n> of <n> (<n>)"),
        ("index (0, -3, 2) of float32[2, 3]", "index (<n>) of float32[<n>]"),
        ("index (0,) up to 1e-05", "index (<n>) up to <n>"),
        ("shapes cannot be multiplied (4x5 and 2x3)", "shapes cannot be multiplied (<n> and <n>)"),
        ("addmm_impl not implemented for 'Half'", "addmm_impl not implemented for 'Half'"),
        ("conv2d of float16, int8 and 3D ioakt", "conv2d of float16, int8 and 3D ioakt"),
        ("torch 2.15.0.dev20261120+cpu is too new", "torch <n> is too new"),
        ("commit 69927e9 of 3f786850e387550fdab836ed7e6dc881de23001b", "commit <hash> of <hash>"),
        ("baddbmm and a decade", "baddbmm and a decade"),
        ("/home/me/.venv/lib/python3.11/site-packages/torch/x.py:12: gone", "x.py:<n>: gone"),
        (r"C:\Users\me\torch\x.py broke", "x.py broke"),
        ("../build/kernel.cpp:12:10: error", "kernel.cpp:<n>: error"),
        ("read/write and and/or", "read/write and and/or"),
        ("/x/tmpab12cd_x/out.txt of tmpab12cd_x", "out.txt of <temp>"),
        ("2026-11-20T04:10:22.123Z: at 04:10:22", "<time>: at <time>"),
        ("[W1120 04:10:22.123 Module.cpp:17] no", "[<time> Module.cpp:<n>] no"),
        ("id 6ba7b810-9dad-11d1-80b4-00c04fd430c8", "id <uuid>"),
        ("see https://example.org/a?b=1 for more", "see <url> for more"),
        ("\x1b[1m\x1b[31mred\x1b[0m \ufffd[31mred\ufffd[0m", "red red"),
        ('“a” `b` "c" \t d', "'a' 'b' 'c' d"),
        ("got nan or -inf, not True", "got <n> or <n>, not True"),
        ("pid 4711: Thread-3", "pid <n>: Thread-<n>"),
        ("on oak:0, not cpu", "on <device>, not cpu"),
        ("device(type='oak', index=0)", "device(type='<device>', index=<n>)"),
        ("the OAK's torch_oak has is_oak", "the <device>'s torch_<device> has is_<device>"),
        ("soak of cloak and oaks", "soak of cloak and oaks"),
        ("from the 'PrivateUse1' backend", "from the '<device>' backend"),
        ("AutogradPrivateUse1 and privateuseone:1", "AutogradPrivateUse1 and <device>"),
        ("", ""),
    ],
)
def test_what_differs_is_replaced(line: str, expected: str) -> None:
    assert normalise(line, "oak") == expected


_PIECES = st.sampled_from(
    [
        *("oak", "n", "device", "PrivateUse1", "a1b2c3d", "0x1f", "tmp", "x.py", "dev20261120", "nan", "inf", "<n>"),
        *("5", "1.5", "%", " s", "GiB", "e5", "j", "word", "é", "https://", "2026-11-20", "04:10:22", "W1120 "),
        *(":", "/", "\\", "..", "~", "'", '"', " ", "\n", "(", ")", "[", ",", "-", "_", "+", "<"),
        *("\x1b[3", "\x1b", "1m", "\ufffd[", "\u200b"),
    ]
)
_LINES = st.one_of(st.lists(_PIECES, max_size=20).map("".join), st.text(max_size=60))


@given(_LINES, st.sampled_from(["oak", "n", "e5", "device", "x_1"]))
@example("5%/foo.py", "oak")
@example("\x1b[3\x1b[31m1mtext", "oak")
@example("<n>/a.py", "n")
@example("oak/n", "oak")
@example("oak//noak", "oak")
def test_twice_is_once(line: str, device: str) -> None:
    once = normalise(line, device)
    assert normalise(once, device) == once


@given(st.lists(st.one_of(st.none(), _PIECES), max_size=20), st.sampled_from([" ", "'", "_", ": ", "."]))
@example(["/", "..", "tmp", None], "_")
def test_the_name_of_the_device_does_not_matter(pieces: list[str | None], between: str) -> None:
    def line(name: str) -> str:
        return between.join(f"{name}:0" if piece is None else piece for piece in pieces)

    # Neither name is part of a piece, so that each is replaced in its own line only.
    assert normalise(line("borealis"), "borealis") == normalise(line("dune_2"), "dune_2")


def test_what_is_behind_the_first_characters_is_not_looked_at() -> None:
    line = "word " * MAX_LINE
    assert normalise(line + " 5 /a/b.py", "oak") == normalise(line, "oak")
    assert len(normalise(line, "oak")) <= MAX_LINE


@pytest.mark.parametrize(
    "piece",
    ["/", "a/", "1.", "1,", "1x", "ab", "0", "f0", "<n>,", "\x1b[", "https://", "'", "oak_", "04:10:", " ", "a-1"],
)
def test_no_text_keeps_a_pattern_busy(piece: str) -> None:
    assert len(normalise(piece * 16_384 + "!", "oak")) <= len("<device>") * MAX_LINE
