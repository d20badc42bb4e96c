"""torch.compile with the inductor backend.

Inductor generates C++ for our compute unit, which is the CPU, and calls it as a
kernel of the device, over the memory of its arguments.
Loaded when inductor first asks for ``torch.openreg.Scheduling``.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch._inductor.config
from torch._inductor.codegen.common import DeviceOpOverrides, register_device_op_overrides
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu as CppWrapperCodegen
from torch._inductor.codegen.wrapper import PythonWrapperCodegen as _PythonWrapperCodegen
from torch._inductor.codegen.wrapper_fxir import WrapperFxCodegen
from torch._inductor.virtualized import V
from torch_openreg import _C
from torch_openreg.device_interface import raw_stream

__all__ = ["CppWrapperCodegen", "PythonWrapperCodegen", "Scheduling", "WrapperFxCodegen", "launch", "raw_stream"]


def launch(name: str, kernel: Any, arguments: Sequence[Any]) -> None:
    """Run a compiled kernel on the current stream of its tensors' device.

    A kernel without tensors on the device is simply called.
    """
    _C.launch_compiled(name, kernel, tuple(arguments))


def _as_for_the_cpu() -> Any:
    # The generator asks for the device's type to find out which language it is
    # writing, and takes every name that it does not know for Triton.
    return V.graph.set_current_device(torch.device("cpu"))


class Scheduling(CppScheduling):
    """Loops become C++, as for the CPU."""

    def codegen_node(self, node: Any) -> None:
        with _as_for_the_cpu():
            super().codegen_node(node)

    def flush(self) -> None:
        with _as_for_the_cpu():
            super().flush()


class PythonWrapperCodegen(_PythonWrapperCodegen):
    """Calls kernels through :func:`launch`."""

    @staticmethod
    def create(is_subgraph: bool, subgraph_name: Any, parent_wrapper: Any, partition_signatures: Any = None) -> Any:
        if is_subgraph:
            return _PythonWrapperCodegen.create(is_subgraph, subgraph_name, parent_wrapper, partition_signatures)
        return PythonWrapperCodegen()

    def write_header(self) -> None:
        super().write_header()
        self.imports.splice("from torch_openreg.inductor import launch as launch_on_openreg")

    def make_allocation(self, name: str, device: torch.device, *arguments: Any, **options: Any) -> str:
        # For devices that it does not know the generated line names the type
        # only, which would mean the current device.
        line = super().make_allocation(name, device, *arguments, **options)
        return line.replace("device='openreg'", f"device='{device}'")

    def _generate_kernel_call_helper(self, kernel_name: str, call_args: Any, **options: Any) -> None:
        # Kernels for tensors on the host pass through here, too.
        self.writeline(f"launch_on_openreg({kernel_name!r}, {kernel_name}, ({', '.join(call_args)},))")


class _Overrides(DeviceOpOverrides):
    def import_get_raw_stream_as(self, name: str) -> str:
        return f"from torch_openreg.inductor import raw_stream as {name}"

    def set_device(self, device_idx: int) -> str:
        return f"torch.openreg.set_device({device_idx})"

    def synchronize(self) -> str:
        return "torch.openreg.synchronize()"

    def device_guard(self, device_idx: int) -> str:
        return f"torch.openreg.device({device_idx})"


# Two rewrites that inductor keeps away from the CPU's code generator by asking
# for the device "cpu". Ours is the same generator under another device's name.
# Torch 2.12 has only the first of them, and refuses the name of the other.
for _rewrite in ("loop_ordering_after_fusion", "loop_reindexing_after_fusion"):
    if hasattr(torch._inductor.config, _rewrite):
        setattr(torch._inductor.config, _rewrite, False)

register_device_op_overrides("openreg", _Overrides())
