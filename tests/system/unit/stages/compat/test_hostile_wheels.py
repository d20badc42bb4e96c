"""Wheels that are built to harm who reads them, or damaged: one error, soon, and nothing else."""

from __future__ import annotations

import random
import resource
import stat
import struct
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from unit.stages.compat.wheels import compile_object, write_wheel

from ootci.errors import WheelRefused
from ootci.stages.compat import objects, read_plugin
from ootci.stages.compat.objects import NoObject, naming, overloads_in, symbols_of
from ootci.stages.compat.plugin import places_of

NAME = "torch_card-1.0-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: torch-card\nVersion: 1.0\n"


def _zip(folder: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    path = folder / NAME
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (*members, ("torch_card-1.0.dist-info/METADATA", METADATA.encode())):
            archive.writestr(name, content)
    return path


def _patched(path: Path, signature: bytes, offset: int, content: bytes) -> Path:
    """The file with some bytes of its first record of a kind changed (APPNOTE.TXT, 4.3)."""
    found = bytearray(path.read_bytes())
    at = found.index(signature) + offset
    found[at : at + len(content)] = content
    path.write_bytes(found)
    return path


def _link(folder: Path) -> Path:
    link = zipfile.ZipInfo("torch_card/link.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return _zip(folder, (link, b"/etc/passwd"))


def _bomb(folder: Path) -> Path:
    """A source of 40 MB of zeros in 40 kB."""
    return _zip(folder, ("torch_card/x.py", bytes(40 << 20)))


def _entries(folder: Path, lines: str) -> Path:
    return _zip(folder, ("torch_card-1.0.dist-info/entry_points.txt", f"[torch.backends]\n{lines}".encode()))


def _twice(folder: Path) -> Path:
    path = _zip(folder, ("torch_card/a.py", b"1"), ("torch_card/b.py", b"2"))
    path.write_bytes(path.read_bytes().replace(b"torch_card/b.py", b"torch_card/a.py"))
    return path


def _no_end(folder: Path) -> Path:
    path = _zip(folder, ("torch_card/a.py", b"1"))
    path.write_bytes(path.read_bytes()[:-30])
    return path


def _damaged(folder: Path) -> Path:
    path = _zip(folder, ("torch_card/a.py", b" ".join(b"%x" % (number * 2654435761) for number in range(2000))))
    content = bytearray(path.read_bytes())
    content[1000:1100] = bytes(100)
    path.write_bytes(content)
    return path


WHEELS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "link": (_link, "torch_card/link.py is a symbolic link"),
    "path out of it": (lambda folder: _zip(folder, ("../../x.py", b"")), "leads out of it"),
    "absolute path": (lambda folder: _zip(folder, ("/etc/x.py", b"")), "leads out of it"),
    "control characters": (lambda folder: _zip(folder, ("torch_card/\x1b[2J.py", b"")), "cannot be shown"),
    "bomb": (_bomb, "unpacks to 41,943,040 bytes"),
    "twice": (_twice, "occurs twice"),
    "cut": (_no_end, "no whole zip file"),
    "damaged": (_damaged, "is damaged"),
    "encrypted": (lambda folder: _patched(_zip(folder), b"PK\x01\x02", 8, b"\x01"), "is encrypted"),
    "unknown compression": (lambda folder: _patched(_zip(folder), b"PK\x01\x02", 10, b"\x63"), "is damaged"),
    "claims gigabytes": (
        lambda folder: _patched(_zip(folder), b"PK\x01\x02", 24, struct.pack("<I", 3 << 30)),
        "unpacks to 3,221,225,472 bytes",
    ),
    "long list of contents": (
        lambda folder: _patched(_zip(folder), b"PK\x05\x06", 12, struct.pack("<I", 1 << 30)),
        "list of contents has more than 65,534 members or 32 MiB",
    ),
    "many members": (lambda folder: _zip(folder, *((f"torch_card/{i}", b"") for i in range(65_535))), "65,534 members"),
    "no zip": (lambda folder: _written(folder, b"hello"), "no whole zip file"),
    "no object": (lambda folder: _zip(folder, ("torch_card/_C.so", b"\x7fELF" + bytes(9000))), "no shared object"),
    "many entry points": (lambda folder: _entries(folder, "".join(f"c{i} = x{i}\n" for i in range(99))), "too many"),
    "a long entry point": (lambda folder: _entries(folder, f"c = {'x' * 9000}\n"), "too long"),
    "a pipe": (lambda folder: folder / "absent" / NAME, "cannot be read"),
    "deep source": (lambda folder: _source(folder, b""), ""),
    "a source that fills the memory when it is parsed": (
        lambda folder: _zip(folder, ("torch_card/x.py", b"import torch.x\n" + b"f()\n" * (7 << 18))),
        "",
    ),
    "many names of torch": (
        lambda folder: _source(folder, b"".join(b"from torch import a%d\nother.thing\n" % i for i in range(30_000))),
        "",
    ),
    "long spaces": (lambda folder: _source(folder, (b"import" + b" " * 1000 + b"\n") * 4000), ""),
    "many words after a star import": (
        lambda folder: _source(folder, b"from torch.y import *\n" + b"".join(b"w%d.x\n" % i for i in range(100_000))),
        "",
    ),
    "many star imports": (lambda folder: _source(folder, b"from torch.y import *\n" * 100_000), ""),
    "kernels without a name": (lambda folder: _source(folder, (b"impl(" + b" " * 1000) * 4000), ""),
    "kernels of long libraries": (lambda folder: _source(folder, (b"impl(" + b"a" * 1000 + b" " * 1000) * 2000), ""),
    "lists without an end": (lambda folder: _source(folder, b"from torch import (\n" * 100_000), ""),
}


def _source(folder: Path, content: bytes) -> Path:
    return _zip(folder, ("torch_card/x.py", b"import torch.x\n" + content + b"(" * 100_000))


def _written(folder: Path, content: bytes) -> Path:
    path = folder / NAME
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", WHEELS)
def test_one_error_and_soon(tmp_path: Path, name: str) -> None:
    make, message = WHEELS[name]
    path = make(tmp_path)
    began = time.monotonic()
    if message:
        with pytest.raises(WheelRefused, match=message) as refused:
            read_plugin(path, None, ())
        assert str(path) in str(refused.value)
    else:
        plugin = read_plugin(path, None, ())
        assert places_of(plugin, {"torch.x": {"torch_card/x.py"}}) == {}
        assert plugin.used.unparsed == {"torch_card/x.py"}
    assert time.monotonic() - began < 10
    assert sorted(tmp_path.iterdir()) in ([path], [])


def test_another_project_s_metadata_is_refused(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path, "torch_other", "1.0", {})
    wheel = wheel.rename(tmp_path / NAME)
    with pytest.raises(WheelRefused, match="METADATA is that of torch-other"):
        read_plugin(wheel, None, ())


@pytest.fixture(scope="module")
def object_(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    source = 'namespace c10 { void f(int); } char const* n = "add.Tensor"; void g() { c10::f(1); }'
    return compile_object(source, tmp_path_factory.mktemp("object") / "x.so")


def test_a_whole_object_is_read(object_: bytes) -> None:
    assert symbols_of(BytesIO(object_)).needed == {"_ZN3c101fEi"}
    assert overloads_in(BytesIO(object_), naming(["add.Tensor", "mul"])) == {"add.Tensor"}


def test_constants_are_read_across_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_PIECE", 7)
    known = naming(["add.Tensor", "mul", "div.Scalar"])
    text = 'char const* n[] = {"add.Tensor", "mul", "aten::div.Scalar", "x.add.Tensor"};'
    assert overloads_in(BytesIO(compile_object(text, tmp_path / "x.so")), known) == {"add.Tensor", "div.Scalar"}
    text = 'char const* n = "aten::mul";'
    assert overloads_in(BytesIO(compile_object(text, tmp_path / "y.so")), known) == {"mul"}


def test_damaged_objects_are_read_or_refused(object_: bytes) -> None:
    source, refused = random.Random(20261125), 0  # noqa: S311
    headers = struct.unpack_from("<Q", object_, 40)[0]
    for _ in range(400):
        content = bytearray(object_)
        for _ in range(source.randrange(1, 6)):
            begin = source.choice((0, headers))
            content[source.randrange(begin, min(len(content), begin + (64 if begin == 0 else 2000)))] = (
                source.randrange(256)
            )
        try:
            symbols_of(BytesIO(content[: source.choice((len(content), source.randrange(len(content))))]))
            overloads_in(BytesIO(content), naming(["add.Tensor"]))
        except NoObject:
            refused += 1
    assert refused > 50


def _section(content: bytearray, kind: int) -> int:
    begin = struct.unpack_from("<Q", content, 40)[0]
    count = struct.unpack_from("<H", content, 60)[0]
    return next(
        at for at in range(begin, begin + 64 * count, 64) if struct.unpack_from("<I", content, at + 4)[0] == kind
    )


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (32, 1 << 40, "beyond its end"),
        (24, 1 << 50, "beyond its end"),
        (56, 7, "symbol table is damaged"),
        (40, 60_000, "symbol table is damaged"),
    ],
)
def test_a_symbol_table_that_lies_about_itself(object_: bytes, offset: int, value: int, message: str) -> None:
    content = bytearray(object_)
    struct.pack_into("<I" if offset == 40 else "<Q", content, _section(content, 11) + offset, value)
    with pytest.raises(NoObject, match=message):
        symbols_of(BytesIO(content))


def test_names_that_overlap_without_end_do_not_fill_the_memory(object_: bytes) -> None:
    """A million symbols, each the name of which is the rest of a table of ten megabytes."""
    strings = b"_Z3c10" * 1_700_000 + b"\0"
    symbols = b"".join(struct.pack("<IBBHQQ", 6 * number, 0x12, 0, 1, 0, 0) for number in range(300_000))
    content = bytearray(object_)
    table = _section(content, 11)
    link = struct.unpack_from("<I", content, table + 40)[0]
    names = struct.unpack_from("<Q", content, 40)[0] + 64 * link
    struct.pack_into("<QQ", content, table + 24, len(content), len(symbols))
    struct.pack_into("<QQ", content, names + 24, len(content) + len(symbols), len(strings))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    with pytest.raises(NoObject, match="overlap"):
        symbols_of(BytesIO(bytes(content) + symbols + strings))
    assert time.monotonic() - began < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10
