"""The steps in which the reference plugin is built, as devices/openreg/steps.cmake lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        title: what it adds.
        capabilities: those whose tests pass from here on.
        files: the files that it adds, relative to the plugin's folder.

    """

    title: str
    capabilities: tuple[str, ...]
    files: tuple[str, ...]


CALL = re.compile(r'^openreg_step\("(?P<title>[^"]+)"(?P<arguments>[^)]*)\)$', re.MULTILINE)


def read_steps(plugin: Path) -> tuple[Step, ...]:
    """The steps, in order."""
    text = (plugin / "steps.cmake").read_text(encoding="utf-8")
    steps = []
    for call in CALL.finditer(text):
        capabilities, _, files = call["arguments"].partition("FILES")
        steps.append(Step(call["title"], tuple(capabilities.split()[1:]), tuple(files.split())))
    assert len(steps) == text.count("\nopenreg_step("), "a step that this does not understand"
    return tuple(steps)


MISSING = (
    (2, "test_autograd.py::test_forward_mode[pointwise]", "segmentation fault"),
    (3, "test_mixed_devices.py::test_module_on_the_device_refuses_cpu_input", "DID NOT RAISE RuntimeError"),
    (
        4,
        "test_optimizers.py::test_optimizer_built_before_moving_still_trains",
        "the optimizer silently updates nothing",
    ),
    (4, "test_modules.py::test_module_equals_cpu[conv2d-eval]", "convolution_overrideable not implemented"),
    (4, "test_modules.py::test_module_equals_cpu[lstm-eval]", "Could not run 'aten::_thnn_fused_lstm_cell'"),
    (5, "test_pinned_memory.py::test_tensor_is_pinned", "segmentation fault"),
    (6, "test_streams_events.py::test_record_stream_keeps_memory", "Could not run 'aten::record_stream'"),
    (8, "test_amp.py::test_decorator", "module 'torch.openreg' has no attribute 'get_amp_supported_dtype'"),
    (9, "test_checkpoint.py::test_gradients_are_those_without_checkpoint", "Tensor-likes are not close!"),
    (10, "test_multiprocessing.py::test_device_tensors_go_to_another_process", "_share_fd_: only available on CPU"),
    (11, "test_quantization.py::test_quantized_tensor_is_copied", "Could not run 'aten::empty_quantized'"),
    (
        12,
        "test_sparse.py::test_coordinates_round_trip",
        "Could not run 'aten::_sparse_coo_tensor_with_dims_and_tensors' with arguments from the 'Sparseopenreg'",
    ),
    (
        13,
        "test_nested.py::test_strided_layout",
        "Could not run 'aten::mul.Tensor' with arguments from the 'NestedTensoropenreg' backend",
    ),
    (
        14,
        "test_distributed.py::test_collective_equals_cpu[all_reduce]",
        "torch has no process group backend registered for this device",
    ),
    (15, "test_compile.py::test_device_interface_is_there_from_the_start", "No interface for device openreg"),
    (16, "test_profiler.py::test_device_events", "the profile looks healthy and misses the device"),
)
"""Of a step: a test that does not pass before it, and what it then says."""
