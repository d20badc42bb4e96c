"""Devices that are broken on purpose: each variant spoils one promise, and the tests for it have to notice.

A pytest plugin (``-p sabotage``) for the Python that has torch and the reference device. The variable ``SABOTAGE``
names the variant. Kernels are replaced through the dispatcher, so the suites see what they would see of a real device.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DEVICE = "openreg"

_KEPT: list[Any] = []
"""What has to live as long as the process: registrations, and the memory that a variant leaks."""


@dataclass(frozen=True)
class Variant:
    """One way to be broken.

    Attributes:
        what: the defect, in words for a table.
        apply: brings it about.
        caught_by: ids of tests that have to fail.

    """

    what: str
    apply: Callable[[], None]
    caught_by: tuple[str, ...]


def pytest_configure() -> None:
    """Break the device that the variable names."""
    VARIANTS[os.environ["SABOTAGE"]].apply()


def _replace(operator: str, kernel: Callable[..., Any], key: str = "PrivateUse1") -> None:
    import torch

    library = torch.library.Library("aten", "IMPL")
    _KEPT.append(library)
    library.impl(operator, kernel, key, allow_override=True)


def _there(tensor: Any) -> Any:
    return tensor.to(DEVICE)


def _wrong_kernel() -> None:
    _replace("mul.Tensor", lambda a, b: _there(a.cpu() * b.cpu() + 0.01))


def _answers_from_the_cpu() -> None:
    _replace("mul.Tensor", lambda a, b: a.cpu() * b.cpu())


def _mixes_devices() -> None:
    _replace("add.Tensor", lambda a, b, alpha=1: _there(a.cpu() + b.cpu() * alpha))


def _copying_view() -> None:
    import torch

    _replace("view_as_real", lambda x: _there(torch.view_as_real(x.cpu()).clone()))


def _copying_slice() -> None:
    _replace("slice.Tensor", lambda x, dim=0, start=None, end=None, step=1: _sliced(x, dim, start, end, step))


def _sliced(tensor: Any, dim: int, start: int | None, end: int | None, step: int) -> Any:
    import torch

    return _there(torch.ops.aten.slice(tensor.cpu(), dim, start, end, step).clone())


def _leaking_generator() -> None:
    def normal(tensor: Any, mean: float = 0, std: float = 1, *, generator: Any = None) -> Any:
        import torch

        return tensor.copy_(torch.normal(mean, std, tensor.shape))

    _replace("normal_", normal)


def _stuck_generator() -> None:
    def uniform(tensor: Any, low: float = 0, high: float = 1, *, generator: Any = None) -> Any:
        import torch

        fixed = torch.Generator().manual_seed(1)
        return tensor.copy_(torch.rand(tensor.shape, generator=fixed) * (high - low) + low)

    _replace("uniform_", uniform)


def _forgotten_state() -> None:
    import torch

    torch.get_device_module(DEVICE).set_rng_state = lambda *_, **__: None


def _lying_queries() -> None:
    import torch

    class Stream(torch.Stream):
        def query(self) -> bool:
            return True

    class Event(torch.Event):
        def query(self) -> bool:
            return True

    torch.Stream, torch.Event = Stream, Event  # type: ignore[misc]


def _event_that_orders_nothing() -> None:
    import torch

    class Event(torch.Event):
        def wait(self, stream: Any = None) -> None:
            pass

    torch.Event = Event  # type: ignore[misc]


def _stream_that_waits_for_nothing() -> None:
    import torch

    class Stream(torch.Stream):
        def wait_stream(self, stream: Any) -> None:
            pass

    torch.Stream = Stream  # type: ignore[misc]


def _invented_time() -> None:
    import torch

    class Event(torch.Event):
        def elapsed_time(self, other: Any) -> float:
            return 1.0

    torch.Event = Event  # type: ignore[misc]


def _leaking_memory() -> None:
    import torch

    original = torch.Tensor.backward

    def backward(self: Any, *arguments: Any, **named: Any) -> None:
        _KEPT.append(torch.empty(10, device=self.device))
        original(self, *arguments, **named)

    torch.Tensor.backward = backward  # type: ignore[method-assign]


def _memory_that_nobody_counts() -> None:
    import torch

    torch.accelerator.memory_allocated = lambda *_: 0


def _peak_that_stays() -> None:
    import torch

    torch.accelerator.reset_peak_memory_stats = lambda *_: None


def _card_that_cannot_be_chosen() -> None:
    import torch

    torch.accelerator.set_device_index = lambda *_: None


def _autocast_that_forgets() -> None:
    import torch

    def product(a: Any, b: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)):
            return torch.mm(a, b)

    _replace("mm", product, "AutocastPrivateUse1")


def _infinity_that_nobody_finds() -> None:
    def unscale(tensors: Any, found: Any, inverse: Any) -> None:
        for tensor in tensors:
            tensor.mul_(inverse)

    _replace("_amp_foreach_non_finite_check_and_unscale_", unscale)


def _module_that_has_every_name() -> None:
    import torch

    vars(torch.get_device_module(DEVICE))["__getattr__"] = lambda name: lambda *_, **__: True


def _operator_that_is_answered_all_the_same() -> None:
    import torch

    library = torch.library.Library("device_suites", "IMPL")
    _KEPT.append(library)
    library.impl("implemented_by_nobody", lambda x: x.clone(), "PrivateUse1")


def _pinning_that_pins_nothing() -> None:
    import torch

    torch.Tensor.pin_memory = lambda self, *_: self  # type: ignore[assignment,method-assign]


def _exchange_that_copies() -> None:
    import torch.utils.dlpack

    original = torch.utils.dlpack.to_dlpack
    torch.utils.dlpack.to_dlpack = lambda tensor: original(tensor.clone())


def _optimizer_over_lists_that_does_nothing() -> None:
    _replace("_foreach_add_.List", lambda tensors, others, alpha=1: None)
    _replace("_foreach_addcdiv_.ScalarList", lambda *_: None)


def _profiler_without_the_device() -> None:
    import torch
    from torch._C._autograd import DeviceType

    original = torch.profiler.profile.events
    torch.profiler.profile.events = lambda self: [  # type: ignore[method-assign,assignment]
        event for event in original(self) if event.device_type == DeviceType.CPU
    ]


def _loading_that_stays_on_the_cpu() -> None:
    import torch

    original = torch.load
    torch.load = lambda *arguments, **named: original(*arguments, **{**named, "map_location": "cpu"})


def _silent_print() -> None:
    import torch

    torch.Tensor.__repr__ = lambda self, **_: "tensor(...)"  # type: ignore[method-assign,assignment,misc]


_ARITHMETIC = "smoke/test_arithmetic.py::"
_STREAMS = "integration/test_streams_events.py::"
_MEMORY = "integration/test_memory.py::"
_RNG = "integration/test_rng.py::"
_AMP = "integration/test_amp.py::"
_VIEWS = "integration/test_views.py::"

VARIANTS: dict[str, Variant] = {
    "module-with-every-name": Variant(
        "a module that has every name",
        _module_that_has_every_name,
        ("smoke/test_registration.py::test_function_that_nobody_wrote_is_not_there",),
    ),
    "answered-all-the-same": Variant(
        "an answer from an operator that nobody implemented",
        _operator_that_is_answered_all_the_same,
        ("smoke/test_registration.py::test_operator_without_a_kernel_is_refused",),
    ),
    "wrong-kernel": Variant(
        "a multiplication that is a hundredth off",
        _wrong_kernel,
        (f"{_ARITHMETIC}test_binary_operator_equals_cpu[mul]", f"{_ARITHMETIC}test_broadcasting"),
    ),
    "answers-from-the-cpu": Variant(
        "a result that is right, and on the cpu",
        _answers_from_the_cpu,
        (f"{_ARITHMETIC}test_binary_operator_equals_cpu[mul]",),
    ),
    "mixes-devices": Variant(
        "an addition that takes operands on the cpu",
        _mixes_devices,
        (
            "integration/test_mixed_devices.py::test_cpu_and_device_operands_are_refused[add-device_cpu]",
            "integration/test_mixed_devices.py::test_cpu_and_device_operands_are_refused[add-cpu_device]",
            "integration/test_mixed_devices.py::test_operands_on_two_cards_are_refused[add]",
        ),
    ),
    "copying-view": Variant(
        "`view_as_real` that copies",
        _copying_view,
        (
            f"{_VIEWS}test_view_shares_memory[view_as_real]",
            f"{_VIEWS}test_write_through_view_reaches_base[view_as_real]",
            f"{_VIEWS}test_write_to_base_reaches_view[view_as_real]",
        ),
    ),
    "copying-slice": Variant(
        "slices that copy",
        _copying_slice,
        (f"{_VIEWS}test_view_shares_memory[slice]", f"{_VIEWS}test_gradient_flows_through_views"),
    ),
    "leaking-generator": Variant(
        "normal numbers that are drawn from the cpu's generator",
        _leaking_generator,
        (
            "smoke/test_rng.py::test_cpu_generator_is_left_alone",
            f"{_RNG}test_cpu_generator_is_left_alone[randn]",
            f"{_RNG}test_generator_decides_the_numbers[normal_]",
        ),
    ),
    "stuck-generator": Variant(
        "uniform numbers that are always the same",
        _stuck_generator,
        (f"{_RNG}test_generator_decides_the_numbers[rand]", f"{_RNG}test_global_seed_decides_the_numbers[rand_like]"),
    ),
    "forgotten-state": Variant(
        "a generator's state that cannot be set",
        _forgotten_state,
        (
            f"{_RNG}test_module_keeps_the_state",
            f"{_RNG}test_fork_rng[devices_named]",
            "integration/test_checkpoint.py::test_gradients_are_those_without_checkpoint[without_reentry]",
            "integration/test_checkpoint.py::test_dropout_really_depends_on_the_state[with_reentry]",
        ),
    ),
    "lying-queries": Variant(
        "streams and events that always say done",
        _lying_queries,
        (f"{_STREAMS}test_stream_query_is_false_while_busy", f"{_STREAMS}test_event_query_is_false_until_reached"),
    ),
    "event-orders-nothing": Variant(
        "an event that a stream does not wait for",
        _event_that_orders_nothing,
        (f"{_STREAMS}test_event_orders_two_streams",),
    ),
    "stream-waits-for-nothing": Variant(
        "a stream that does not wait for another",
        _stream_that_waits_for_nothing,
        (f"{_STREAMS}test_stream_waits_for_stream",),
    ),
    "invented-time": Variant(
        "an elapsed time that was not measured", _invented_time, (f"{_STREAMS}test_elapsed_time_is_real",)
    ),
    "leaking-memory": Variant(
        "forty bytes lost in every backward", _leaking_memory, (f"{_MEMORY}test_training_leaks_nothing",)
    ),
    "uncounted-memory": Variant(
        "memory that is not counted",
        _memory_that_nobody_counts,
        (f"{_MEMORY}test_allocated_bytes_follow_tensors", f"{_MEMORY}test_each_card_counts_for_itself"),
    ),
    "peak-that-stays": Variant(
        "a peak that is never reset", _peak_that_stays, (f"{_MEMORY}test_peak_is_remembered_and_reset",)
    ),
    "card-that-cannot-be-chosen": Variant(
        "a current card that does not change",
        _card_that_cannot_be_chosen,
        (
            "integration/test_device.py::test_current_card_is_where_tensors_land",
            "integration/test_device.py::test_missing_card_is_refused[0]",
        ),
    ),
    "autocast-that-forgets": Variant(
        "autocast without matrix products",
        _autocast_that_forgets,
        (f"{_AMP}test_lower_precision_list[mm]",),
    ),
    "infinity-unnoticed": Variant(
        "gradient scaling that does not notice infinite gradients",
        _infinity_that_nobody_finds,
        (
            f"{_AMP}test_scaler_skips_a_bad_step[inf]",
            f"{_AMP}test_scaler_skips_a_bad_step[nan]",
            f"{_AMP}test_scale_grows",
            f"{_AMP}test_scaler_over_two_cards",
        ),
    ),
    "pins-nothing": Variant(
        "`pin_memory` that gives back what it got",
        _pinning_that_pins_nothing,
        (
            "integration/test_pinned_memory.py::test_tensor_is_pinned",
            "integration/test_pinned_memory.py::test_parts_of_pinned_memory_are_pinned",
            "integration/test_dataloader.py::test_an_epoch_arrives_whole[pinned-in_process]",
        ),
    ),
    "exchange-copies": Variant(
        "DLPack that copies",
        _exchange_that_copies,
        ("integration/test_interop.py::test_capsule_round_trip[float32]",),
    ),
    "foreach-does-nothing": Variant(
        "list kernels that do nothing",
        _optimizer_over_lists_that_does_nothing,
        (
            "integration/test_optimizers.py::test_foreach_equals_cpu[sgd]",
            "integration/test_optimizers.py::test_foreach_equals_cpu[adam]",
        ),
    ),
    "profiler-without-device": Variant(
        "a profiler that sees the host only",
        _profiler_without_the_device,
        ("integration/test_profiler.py::test_device_events",),
    ),
    "loads-on-the-cpu": Variant(
        "`torch.load` that leaves tensors on the cpu",
        _loading_that_stays_on_the_cpu,
        (
            "smoke/test_serialization.py::test_tensor_is_saved_and_loaded",
            "integration/test_serialization.py::test_map_location_to_the_device[string]",
        ),
    ),
    "silent-print": Variant(
        "tensors that print nothing of themselves",
        _silent_print,
        ("smoke/test_tensors.py::test_printing_tells_the_device", "integration/test_tensors.py::test_printing"),
    ),
}
