"""What is predicted of a plugin on a torch: what it needs, what its torch had, and what is missing."""

from __future__ import annotations

import re
import subprocess
import zipfile
from collections.abc import Mapping
from contextlib import closing
from importlib import import_module
from io import BytesIO
from pathlib import Path

import pytest
from unit.stages.compat.predicting import MADE_FOR, SOURCES, Predict, predicted, texts
from unit.stages.compat.wheels import COMMIT, compile_object, plugin_objects, torch_wheel, write_wheel

from ootci.cli.compat import _cell, _details
from ootci.model.compat import FindingKind, Forecast
from ootci.stages.compat import TorchWheel, export_changes, needs_of, read_plugin, read_torch
from ootci.stages.compat.objects import symbols_of
from ootci.stages.compat.torch_modules import Modules
from ootci.stages.compat.torch_wheel import OPERATORS

UNUSED = "_ZN2at6unusedEv"


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    return plugin_objects(tmp_path_factory.mktemp("objects"))


def test_symbols_that_are_gone_are_named_with_object_and_header(predict: Predict, objects: Mapping[str, bytes]) -> None:
    found = predict(objects)
    assert found.forecast is Forecast.BREAK
    assert (found.baseline, found.baseline_guessed) == ("2.13.0", True)
    assert sorted(texts(found, FindingKind.SYMBOL)) == ["at::moved(int)", "c10::report(char const*)"]
    report = next(finding for finding in found.findings if "report" in finding.text)
    assert report.needed_by == ("torch_card/_C.so",)
    assert report.header == "c10/util/Cast.h"
    # Neither the weak one nor the one that another object of the plugin has is counted.
    assert found.checked.symbols == 3
    assert found.why.startswith("binary: 2 of 3 symbols gone")


def test_findings_that_are_too_many_are_counted(
    predict: Predict, objects: Mapping[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("ootci.stages.compat.predict"), "SHOWN", 1)
    found = predict(objects)
    assert found.why.startswith("binary: 2 of 3 symbols gone")
    assert (len(found.findings), found.more) == (1, 1)
    assert _cell(found) == "1 sym + 1 more"
    assert "  1 more that are not kept" in list(_details([found], 9, markdown=False))


def test_a_symbol_that_no_relocation_refers_to_is_not_needed(tmp_path: Path) -> None:
    """torch-xla 2.9.0 has one, and is loaded without it."""
    option = f"-Wl,-u,{UNUSED}"
    object_ = compile_object("namespace c10 { void kept(); } void use() { c10::kept(); }", tmp_path / "o.so", option)
    assert UNUSED.encode() in object_
    assert symbols_of(BytesIO(object_)).needed == {"_ZN3c104keptEv"}


def test_nothing_is_missing_on_the_torch_that_it_was_made_for(predict: Predict, objects: Mapping[str, bytes]) -> None:
    found = predict({**objects, **SOURCES}, on=0)
    assert (found.forecast, found.findings) == (Forecast.NO_BREAK, ())
    assert found.why == "checked 3 symbols, 6 names, 3 overloads"


def test_all_that_a_plugin_needs_is_listed_whether_it_is_missing_or_not(
    tmp_path: Path, torches: tuple[TorchWheel, TorchWheel], objects: Mapping[str, bytes]
) -> None:
    operators = {name for torch in torches for name in torch.operators}
    plugin = read_plugin(write_wheel(tmp_path, "torch_card", "1.0", {**objects, **SOURCES}), "card", operators)
    needs = needs_of(plugin, torches[1], torches)
    assert needs.symbols == ("at::moved(int)", "c10::kept()", "c10::report(char const*)")
    names = "torch.Tensor torch.late torch.lazy torch.lazy.made torch.utils.gone torch.utils.gone.helper"
    assert " ".join(needs.names) == names
    assert needs.operators == ("add.Tensor", "full.names", "mul.Tensor")
    # What only the other torch has is not known without it.
    assert needs_of(plugin, torches[1], torches[1:]).symbols == ("c10::kept()",)


def test_what_a_torch_exports_is_compared_with_an_earlier_one(torches: tuple[TorchWheel, TorchWheel]) -> None:
    old, new = torches
    found = export_changes(old, new)
    assert (found.before.version, found.after.version, found.after.git_version) == ("2.13.0", "2.15.0", COMMIT)
    assert found.removed.symbols == ("_ZN2at5movedEi", "_ZN3c106reportEPKc")
    # A module stands for all names in it.
    assert found.removed.names == ("torch.utils.gone", "torch.utils.old")
    assert found.removed.operators == ("add.Tensor_out", "full.names")
    assert (found.added.symbols, found.added.names, found.added.operators) == (("_ZN2at5movedEl",), (), ())
    assert found.schemas == ("add.Tensor",)
    back = export_changes(new, old)
    assert (back.removed, back.added, back.schemas) == (found.added, found.removed, found.schemas)


def test_names_that_another_torch_lacks_are_found_through_imports_and_packages() -> None:
    kept = {"torch/__init__.py": "from .text import *", "torch/lazy/__init__.py": "", "torch/lazy/part.py": ""}
    old = {
        **kept,
        "torch/text.py": "first = second = 1",
        "torch/lazy/__init__.py": "from . import part",  # The module can still be imported.
        "torch/gone/__init__.py": "",
        "torch/gone/inner.py": "x = 1",
    }
    new = {**kept, "torch/text.py": "second = 1", "torch/late.pyi": "y: int"}
    before, after = (Modules(files, lambda file, files=files: files[file].encode()) for files in (old, new))
    assert before.beyond(after) == {"torch.first", "torch.text.first", "torch.gone"}
    assert after.beyond(before) == {"torch.late"}


IMPORTING = """
import os, torch.cuda
import torch.nn as nn
from .inner import one, two as second
from torch.utils import (
    many,  # comments and (brackets)
    named as other,
)
from torch import \\
    continued
if True:
    from torch.inner import nested
try:
    import maybe
except ImportError:
    maybe = None
text = "word"
"""


@pytest.mark.parametrize(
    "name", ["os", "torch", "nn", "one", "second", "many", "other", "continued", "nested", "maybe"]
)
def test_a_module_has_what_it_imports_at_the_beginning_of_a_line_or_elsewhere(name: str) -> None:
    modules = Modules(("torch/x.py",), lambda _: IMPORTING.encode())
    assert modules.has(f"torch.x.{name}")
    for other in ("two", "named", "cuda", "comments", "word", "absent", "inner"):
        assert not modules.has(f"torch.x.{other}")


def test_the_dynamic_loader_misses_the_same_symbols(
    tmp_path: Path, predict: Predict, torches: tuple[TorchWheel, TorchWheel], objects: Mapping[str, bytes]
) -> None:
    """``ldd -r`` resolves the object against the libraries themselves."""
    for kind, torch in zip(("old", "new"), torches, strict=True):
        library = tmp_path / kind / "libc10.so"
        library.parent.mkdir()
        with zipfile.ZipFile(torch.wheel.path) as archive:
            library.write_bytes(archive.read("torch/lib/libc10.so"))
        (tmp_path / "libown.so").write_bytes(objects["torch_card/lib/libown.so"])
        (tmp_path / "plugin.so").write_bytes(objects["torch_card/_C.so"])
        said = subprocess.run(
            ["ldd", "-r", str(tmp_path / "plugin.so")],
            env={"LD_PRELOAD": f"{library} {tmp_path / 'libown.so'}"},
            capture_output=True,
            text=True,
            check=False,
        )
        missing = set(re.findall(r"undefined symbol: (\w+)", said.stdout + said.stderr))
        index = 0 if kind == "old" else 1
        found = predict(objects, on=index)
        assert {finding.name for finding in found.findings if finding.kind is FindingKind.SYMBOL} == missing
        assert len(missing) == 2 * index


def test_names_that_are_gone_are_named_with_their_place(predict: Predict) -> None:
    found = predict(SOURCES, requires=MADE_FOR)
    (gone,) = [finding for finding in found.findings if finding.kind is FindingKind.NAME]
    assert (gone.name, gone.needed_by) == ("torch.utils.gone", ("torch_card/__init__.py:1",))


def test_overloads_that_are_gone_or_changed(tmp_path: Path, predict: Predict, objects: Mapping[str, bytes]) -> None:
    # A kernel of one C++ signature asks PyTorch for the schema of it; a boxed one is registered for every schema.
    registers = "namespace torch { struct Library { void _impl(int) &; }; }\n"
    registers += 'char const* names[] = {"add.Tensor", "mul.Tensor", "full.names"};\n'
    boxed = f"{registers}void use(torch::Library& library) {{ library._impl(1); }}\n"
    unboxed = registers + "namespace c10::detail::infer_schema { int make_function_schema(int); }\n"
    unboxed += "void use(torch::Library& l) { l._impl(c10::detail::infer_schema::make_function_schema(1)); }\n"
    object_ = compile_object(boxed, tmp_path / "b.so")
    found = predict({**SOURCES, "torch_card/_R.so": object_}, requires=MADE_FOR)
    assert texts(found, FindingKind.SCHEMA) == []
    object_ = compile_object(unboxed, tmp_path / "r.so")
    found = predict({**SOURCES, "torch_card/_R.so": object_}, requires=MADE_FOR)
    assert texts(found, FindingKind.OPERATOR) == ["aten::full.names"]
    (changed,) = texts(found, FindingKind.SCHEMA)
    assert (
        changed
        == "aten::add.Tensor: (Tensor, Tensor, Scalar) -> Tensor is now (Tensor, Tensor, Scalar, bool) -> Tensor"
    )
    assert any("1 overloads that it names for kernels are gone" in note for note in found.notes)


def test_a_symbol_of_another_requirement_is_not_pytorch_s(tmp_path: Path, predict: Predict) -> None:
    """No torch exports it, whatever types of PyTorch are in its name."""
    source = "namespace at { struct Tensor; } namespace vendor { void f(at::Tensor const&); }"
    library = compile_object(f"{source} void vendor::f(at::Tensor const&) {{}}", tmp_path / "libvendor.so")
    assert "_ZN6vendor1fERKN2at6TensorE" in symbols_of(BytesIO(library)).defined
    text = f"{source} namespace c10 {{ void kept(); }} void g(at::Tensor& x) {{ vendor::f(x); c10::kept(); }}"
    object_ = compile_object(text, tmp_path / "c.so", str(tmp_path / "libvendor.so"))
    assert "_ZN6vendor1fERKN2at6TensorE" in symbols_of(BytesIO(object_)).needed
    requires = f"{MADE_FOR}Requires-Dist: torch-vendor\n"
    found = predict({"torch_card/_C.so": object_}, requires=requires)
    assert (found.findings, found.checked.symbols) == ((), 1)


def test_a_torch_that_packages_no_list_of_overloads_lacks_none(
    tmp_path: Path, torches: tuple[TorchWheel, TorchWheel]
) -> None:
    bare = read_torch(torch_wheel(tmp_path, "new", "2.15.0", **{OPERATORS: ""}))
    with closing(bare.wheel):
        found = predicted(tmp_path, (torches[0], bare), SOURCES, requires=MADE_FOR)
    assert (found.count(FindingKind.NAME), found.count(FindingKind.OPERATOR)) == (1, 0)


def test_an_object_for_other_machines_is_left_out(predict: Predict, objects: Mapping[str, bytes]) -> None:
    """Such as firmware that a device runs."""
    content = bytearray(objects["torch_card/_C.so"])
    content[4] = 1  # 32 bits
    found = predict({**objects, "torch_card/dsp.so": bytes(content)})
    assert (found.checked.objects, found.checked.symbols) == (2, 3)
    assert "1 objects are for other machines and not read, first torch_card/dsp.so" in found.notes


@pytest.mark.parametrize("marker", ['python_version ~= "abc"', '"gpu" in extras'])
def test_a_requirement_that_cannot_be_decided_is_none(predict: Predict, marker: str) -> None:
    requires = f"Requires-Dist: torch==2.13.0; {marker}\n"
    assert predict({}, requires=requires).baseline_guessed


def test_an_entry_point_of_another_package_is_no_break(predict: Predict) -> None:
    entry = "[torch.backends]\ncard = torch_card_core:load\n"
    found = predict({"torch_card/__init__.py": ""}, on=0, entry_points=entry)
    (note,) = found.notes
    assert (found.findings, "leads to a package that this wheel does not bring" in note) == ((), True)


def test_an_entry_point_that_leads_nowhere(predict: Predict) -> None:
    entry = "[torch.backends]\ncard = torch_card.missing:load\n"
    found = predict({"torch_card/__init__.py": ""}, on=0, entry_points=entry)
    assert texts(found, FindingKind.ENTRY_POINT) == ["card = torch_card.missing:load: no such module"]
    leads = "[torch.backends]\ncard = torch_card:load\n"
    fine = predict({"torch_card/__init__.py": ""}, on=0, entry_points=leads)
    assert (fine.findings, fine.notes) == ((), ())
    for file in ("torch_card/missing.pyc", "torch_card-1.0.data/purelib/torch_card/missing.py"):
        found = predict({"torch_card/_C.txt": "", file: ""}, on=0, entry_points=entry)
        assert (found.findings, found.notes) == ((), ()), file


def test_a_wheel_for_another_python(predict: Predict) -> None:
    found = predict({}, on=0, tag="cp310-cp310-manylinux_2_28_x86_64")
    assert texts(found, FindingKind.PYTHON) == ["the wheel is for cp310, torch is for cp311"]
    assert predict({}, on=0, tag="py3-none-any").findings == ()
    assert predict({}, on=0, tag="cp310-abi3-manylinux_2_28_x86_64").findings == ()
    newer = predict({}, on=0, tag="cp312-abi3-manylinux_2_28_x86_64")
    assert texts(newer, FindingKind.PYTHON) == ["the wheel is for cp312, torch is for cp311"]


def test_the_baseline_is_what_the_metadata_says(predict: Predict, objects: Mapping[str, bytes]) -> None:
    found = predict(objects, requires="Requires-Dist: torch==2.15.0.*\n")
    assert (found.baseline, found.baseline_guessed, found.findings) == ("2.15.0", False, ())
    old = predict(objects, requires="Requires-Dist: torch==2.13.0+cpu\n")
    assert (old.baseline, old.baseline_guessed) == ("2.13.0", False)
    assert "requires torch==2.13.0+cpu, which excludes 2.15.0" in old.notes


def test_a_guess_is_not_newer_than_the_named_torch_that_is_not_at_hand(tmp_path: Path, predict: Predict) -> None:
    """Else torch-npu 2.14.0 counts as made for 2.15.0, and lacks nothing there."""
    source = "namespace c10 { void report(char const*); } namespace at { void moved(long); }"
    object_ = compile_object(f"{source} void f() {{ c10::report(0); at::moved(1); }}", tmp_path / "a.so")
    found = predict({"torch_card/_C.so": object_}, requires="Requires-Dist: torch==2.14.0\n")
    assert (found.baseline, found.baseline_guessed) == ("2.13.0", True)
    assert texts(found, FindingKind.SYMBOL) == ["c10::report(char const*)"]


def test_a_guess_takes_the_newest_of_equals(predict: Predict) -> None:
    found = predict({"torch_card/__init__.py": ""})
    assert (found.baseline, found.baseline_guessed) == ("2.15.0", True)


def test_of_objects_for_each_release_the_one_for_this_torch_counts(tmp_path: Path, predict: Predict) -> None:
    old = compile_object("namespace c10 { void report(char const*); } void f() { c10::report(0); }", tmp_path / "a.so")
    new = compile_object("namespace c10 { void kept(); } void f() { c10::kept(); }", tmp_path / "b.so")
    found = predict({"torch_card/x_2_13_0.so": old, "torch_card/x_2_14_0.so": new})
    assert (found.findings, found.checked.objects) == ((), 1)


def test_nothing_of_a_wheel_is_run(tmp_path: Path, predict: Predict) -> None:
    mark = tmp_path / "ran"
    object_ = compile_object(
        f'#include <cstdio>\n__attribute__((constructor)) void f() {{ std::fclose(std::fopen("{mark}", "w")); }}',
        tmp_path / "c.so",
    )
    source = f"open({str(mark)!r}, 'w')\n"
    predict({"torch_card/_C.so": object_, "torch_card/__init__.py": source, "setup.py": source})
    assert not mark.exists()
