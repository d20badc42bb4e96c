"""PyTorch's own list of modules with inputs for each, as test cases. Needs torch, numpy and expecttest.

``module_db`` (torch/testing/_internal/common_modules.py) is part of the wheel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from harness.ops_dtypes import dtype_name
from harness.results import Result, gradients
from harness.samples import Arguments, Sample
from harness.spread import spread
from harness.torch_lists import torch_list

MAX_SAMPLES = 32
"""How many inputs of a module are run at most, evenly spread over those that ``module_db`` gives."""

MODULE_TEST = ("TestModule", "test_cpu_gpu_parity")
"""PyTorch's own test that compares modules on two devices (test/test_modules.py)."""

MODULES = torch_list("torch.testing._internal.common_modules", "module_db")


@dataclass(frozen=True)
class Module:
    """A module in one of its modes.

    Attributes:
        name: as ``module_db`` has it.
        training: whether it is in training mode, else in evaluation mode.
        dtype: of parameters and inputs.
        info: the entry of ``module_db``.

    """

    name: str
    training: bool
    dtype: torch.dtype
    info: Any

    on_host = None
    is_undetermined = False
    rounds = False

    @property
    def id(self) -> str:
        """The test's parameter."""
        return f"{self.name}-{'train' if self.training else 'eval'}-{dtype_name(self.dtype)}"

    def __call__(self, arguments: Arguments) -> Any:
        """Call a module, the first of the arguments, with the others."""
        module, *inputs = arguments.positional
        return module(*inputs, **arguments.named)

    def samples(self, *, requires_grad: bool = False) -> Iterator[Sample]:
        """The modules on the cpu, each with inputs, the same ones every time."""
        torch.default_generator.manual_seed(0)
        given = list(
            self.info.module_inputs_func(
                self.info, device="cpu", dtype=self.dtype, requires_grad=requires_grad, training=self.training
            )
        )
        for index in spread(len(given), MAX_SAMPLES):
            made, called = given[index].constructor_input, given[index].forward_input
            torch.default_generator.manual_seed(0)
            module = self.info.module_cls(*made.args, **made.kwargs).to(self.dtype).train(self.training)
            yield Sample(index + 1, Arguments((module, *called.args), called.kwargs))

    def errors(self, device: torch.device) -> Iterator[Sample]:
        """Calls that have to be refused, made for a device: torch leaves out what its kind cannot notice.

        What a constructor refuses is no such call: it does so before it knows a device.
        """
        torch.manual_seed(0)
        given = self.info.module_error_inputs_func(
            self.info, device=str(device), dtype=self.dtype, requires_grad=False, training=self.training
        )
        for number, error in enumerate(given, start=1):
            if error.error_on.name != "FORWARD_ERROR":
                continue
            made, called = error.module_error_input.constructor_input, error.module_error_input.forward_input
            module = self.info.module_cls(*made.args, **made.kwargs).to(device).train(self.training)
            yield Sample(number, Arguments((module, *called.args), called.kwargs), raises=error.error_type)


def modules(dtype: torch.dtype) -> list[Module]:
    """The modules that torch lists for a dtype, each in training and in evaluation mode."""
    return [
        Module(info.name, training, dtype, info)
        for info in MODULES
        if dtype in info.supported_dtypes("cpu")
        for training in (True, False)
    ]


def modules_with_errors(dtype: torch.dtype) -> list[Module]:
    """The modules for which torch lists calls that have to be refused, in training mode."""
    return [case for case in modules(dtype) if case.training and getattr(case.info, "module_error_inputs_func", None)]


def forward(case: Module, sample: Sample, arguments: Arguments) -> Result:
    """Call the module. What it keeps, such as running statistics, is a result as well."""
    module, *inputs = arguments.positional
    with torch.no_grad():
        made = case(arguments)
    return Result((made, _state(module)), (inputs, dict(arguments.named)))


def backward(case: Module, sample: Sample, arguments: Arguments) -> Result:
    """Call the module and differentiate the result with respect to parameters and inputs."""
    module = arguments.positional[0]
    made = case(arguments)
    leaves = [tensor for tensor in arguments.tensors() if tensor.requires_grad]
    return gradients(made, [*leaves, *(parameter for parameter in module.parameters() if parameter.requires_grad)])


def _state(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {
        name: tensor.detach() for kept in (module.named_parameters(), module.named_buffers()) for name, tensor in kept
    }
