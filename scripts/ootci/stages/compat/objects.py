"""Dynamic symbols of shared objects, read from their tables (System V ABI, "Symbol Table"); nothing is loaded."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

OBJECT = re.compile(r"\.so(\.\d+)*$")
"""File names of shared objects."""
MAX_SECTIONS = 10_000
MAX_TABLE = 96 << 20
"""Bytes of one symbol or string table: the strings of libtorch_cpu.so of torch 2.13.0 have 27 MB."""
MAX_SYMBOLS = 2_000_000
MAX_CONSTANTS = 256 << 20
"""Bytes of constants that are looked through in one object."""

_PIECE = 1 << 20
_LONGEST = 256
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<8xQ8x")
_GLOBAL, _WEAK, _UNIQUE = 1, 2, 10
_DEFAULT, _PROTECTED = 0, 3
_PYTORCH = re.compile(
    rb"_Z[A-Za-z0-9_.$]*?(?<![0-9])(?:3c10|2at|5torch|6caffe2)[A-Za-z0-9_.$]*|(?:_Z\d+)?THP[A-Za-z0-9_.$]*"
    rb"|(?:aoti_)?torch_\w+"
)
"""Mangled C++ names with a namespace of PyTorch in them (Itanium C++ ABI, 5.1), and the names of its Python binding and
of its stable C interface."""
_BEGINNINGS = (b"_Z", b"THP", b"aoti_torch_", b"torch_")


class NoObject(Exception):
    """The file is no shared object that can be read; its text is why."""


class ForeignObject(NoObject):
    """It is for other machines, such as firmware of the device: no Python that has torch loads it."""


@dataclass
class Symbols:
    """Symbols of PyTorch in one object or in several.

    Attributes:
        defined: those that it exports, weak ones too.
        needed: those that it needs from elsewhere. Weak ones are left out, and those that no relocation refers to: the
            loader does without them.

    """

    defined: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)


def symbols_of(stream: IO[bytes], *, needed: bool = True) -> Symbols:
    """The dynamic symbols of PyTorch in a 64-bit little-endian object.

    Args:
        stream: the object.
        needed: whether to look for those that it needs, too.

    Raises:
        NoObject: it is another kind of file, is damaged, or has tables beyond the limits of this module.

    """
    found = Symbols()
    sections = _sections(stream)
    for number, section in enumerate(sections):
        if section["sh_type"] != "SHT_DYNSYM":
            continue
        if section["sh_link"] >= len(sections) or section["sh_entsize"] != _SYMBOL.size:
            raise NoObject("its symbol table is damaged")
        table, strings = _content(stream, section), _content(stream, sections[section["sh_link"]])
        if len(table) // _SYMBOL.size > MAX_SYMBOLS:
            raise NoObject(f"it has more than {MAX_SYMBOLS:,} symbols")
        _sort(table, strings, _referred_to(stream, sections, number) if needed else frozenset(), found)
    return found


def naming(operators: Iterable[str]) -> dict[bytes, str]:
    """Constants that name an overload of ``aten``: ``add.Tensor`` or ``aten::add``. A bare word can be anything."""
    names = list(operators)
    plain = {name.encode(): name for name in names if "." in name}
    return plain | {f"aten::{name}".encode(): name for name in names}


def overloads_in(stream: IO[bytes], constants: Mapping[bytes, str]) -> set[str]:
    """The overloads that an object's constants name.

    Args:
        constants: those that are looked for, with the overload that each names.

    Raises:
        NoObject: as by :func:`symbols_of`.

    """
    found: set[bytes] = set()
    left = MAX_CONSTANTS
    for section in _sections(stream):
        # .rodata: in memory, neither code nor writable (System V ABI, "Section Attribute Flags").
        if section["sh_type"] != "SHT_PROGBITS" or section["sh_flags"] & 0b111 != 0b010:
            continue
        left -= section["sh_size"]
        if left < 0:
            raise NoObject(f"it has more than {MAX_CONSTANTS >> 20} MiB of constants")
        stream.seek(section["sh_offset"])
        unfinished, unread = b"", section["sh_size"]
        while unread > 0:
            piece = unfinished + stream.read(min(_PIECE, unread))
            unread -= _PIECE
            whole, _, unfinished = piece.rpartition(b"\0")
            found |= constants.keys() & whole.split(b"\0")
            unfinished = unfinished[-_LONGEST:]
        found |= constants.keys() & {unfinished}
    return {constants[item] for item in found}


def _sort(table: bytes, strings: bytes, referred_to: Collection[int], found: Symbols) -> None:
    read = 0
    entries = _SYMBOL.iter_unpack(table[: len(table) // _SYMBOL.size * _SYMBOL.size])
    for number, (at, info, other, section, _, _) in enumerate(entries):
        bind = info >> 4
        if bind not in (_GLOBAL, _WEAK, _UNIQUE) or (section == 0 and bind == _WEAK):
            continue
        if not strings.startswith(_BEGINNINGS, at):
            continue
        end = strings.find(b"\0", at)
        if end < 0:
            raise NoObject("a symbol's name does not end")
        # Names may share their ends, but not so that they are several times the table.
        read += end - at
        if read > 4 * len(strings):
            raise NoObject("its symbols' names overlap")
        name = strings[at:end]
        if _PYTORCH.fullmatch(name):
            if section == 0:
                if number in referred_to:
                    found.needed.add(name.decode())
            elif other & 3 in (_DEFAULT, _PROTECTED):
                found.defined.add(name.decode())


def _referred_to(stream: IO[bytes], sections: list[Any], table: int) -> set[int]:
    """The places in a symbol table that relocations refer to (System V ABI, "Relocation")."""
    found: set[int] = set()
    for section in sections:
        if section["sh_type"] == "SHT_RELA" and section["sh_link"] == table:
            content = _content(stream, section)
            whole = content[: len(content) // _RELOCATION.size * _RELOCATION.size]
            found.update(info >> 32 for (info,) in _RELOCATION.iter_unpack(whole))
    return found


def _content(stream: IO[bytes], section: Any) -> bytes:
    if section["sh_size"] > MAX_TABLE:
        raise NoObject(f"a table has more than {MAX_TABLE >> 20} MiB")
    stream.seek(section["sh_offset"])
    content = stream.read(section["sh_size"])
    if len(content) < section["sh_size"] or section["sh_type"] == "SHT_NOBITS":
        raise NoObject("it ends within a table")
    return content


def _sections(stream: IO[bytes]) -> list[Any]:
    """The section headers. Sections themselves are not made: pyelftools would read their names without a limit."""
    # Imported only where an object is read: commands that list others import this module, too.
    from elftools.common.utils import struct_parse
    from elftools.elf.elffile import ELFFile

    try:
        stream.seek(0)
        elf: Any = ELFFile(stream)
        header = elf.header
        if elf.elfclass != 64 or not elf.little_endian:
            raise ForeignObject("it is not a 64-bit little-endian object")
        length = stream.seek(0, 2)
        count = header["e_shnum"]
        if header["e_shentsize"] != 64 or not 0 < count <= MAX_SECTIONS or header["e_shoff"] + count * 64 > length:
            raise NoObject("its section headers are missing or damaged")
        found = [
            struct_parse(elf.structs.Elf_Shdr, stream, stream_pos=header["e_shoff"] + 64 * number)
            for number in range(count)
        ]
    except NoObject:
        raise
    except Exception as error:  # pyelftools answers damage with errors of many kinds
        raise NoObject("it is no shared object, or a damaged one") from error
    if any(
        section["sh_type"] != "SHT_NOBITS" and section["sh_offset"] + section["sh_size"] > length for section in found
    ):
        raise NoObject("a section is beyond its end")
    return found
