"""Defects of mixed precision."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from sabotage import DEVICE, broken
from sabotage.kernels import map_tensors, replace, wrap

KEY = "AutocastPrivateUse1"


def _listed() -> list[str]:
    """The operators that have a policy of autocast."""
    names = torch._C._dispatch_get_all_op_names()
    own = [name for name in names if torch._C._dispatch_has_kernel_for_dispatch_key(name, KEY)]
    return [name.removeprefix("aten::") for name in own if name.startswith("aten::")]


@broken("autocast-that-forgets", "autocast without any list", "amp", "training")
def _forgets() -> None:
    for name in _listed():
        plain, _, overload = name.partition(".")
        replace(name, _below(getattr(getattr(torch.ops.aten, plain), overload or "default")), KEY)


def _below(operator: Any) -> Any:
    def kernel(*arguments: Any, **named: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)):
            return operator(*arguments, **named)

    return kernel


@broken("autocast-to-half-only", "autocast that makes everything half", "amp")
def _half_only() -> None:
    for name in _listed():
        plain, _, overload = name.partition(".")
        below = _below(getattr(getattr(torch.ops.aten, plain), overload or "default"))

        def kernel(*arguments: Any, below: Any = below, **named: Any) -> Any:
            dtype = torch.get_autocast_dtype(DEVICE)
            changed = map_tensors(lambda t: t.to(dtype) if t.is_floating_point() else t, list(arguments))
            return map_tensors(lambda t: t.to(dtype) if t.is_floating_point() else t, below(*changed, **named))

        replace(name, kernel, KEY)


@broken("autocast-that-stays", "autocast that goes on after its block", "amp")
def _stays() -> None:
    torch.autocast.__exit__ = lambda self, *_: None  # type: ignore[method-assign,assignment]


@broken("autocast-decorates-nothing", "autocast that decorates nothing", "amp")
def _decorates_nothing() -> None:
    torch.autocast.__call__ = lambda self, function: function  # type: ignore[method-assign]


@broken("old-casts", "autocast that goes on using the cast of an old weight", "amp")
def _old_casts() -> None:
    torch.clear_autocast_cache = lambda: None
    torch.autocast_decrement_nesting = lambda: 1


@broken("any-precision", "autocast that takes any dtype", "amp")
def _any_precision() -> None:
    original = torch.autocast.__init__

    def init(self: Any, *arguments: Any, **named: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            original(self, *arguments, **named)

    torch.autocast.__init__ = init  # type: ignore[method-assign]


@broken("no-lower-precision", "no lower precision", "amp", "registration")
def _no_lower_precision() -> None:
    torch.get_device_module(DEVICE).get_amp_supported_dtype = lambda: [torch.float32]


@broken("custom-functions-as-they-are", "`custom_fwd` and `custom_bwd` that do nothing", "amp")
def _as_they_are() -> None:
    for name in ("custom_fwd", "custom_bwd"):
        setattr(torch.amp, name, lambda function=None, **_: function or (lambda given: given))


@broken("infinity-unnoticed", "gradient scaling that does not notice infinite gradients", "amp")
def _unnoticed() -> None:
    def unscale(tensors: Any, found: Any, inverse: Any) -> None:
        for tensor in tensors:
            tensor.mul_(inverse)

    replace("_amp_foreach_non_finite_check_and_unscale_", unscale)


@broken("gradients-stay-scaled", "gradients that stay scaled", "amp", "training")
def _stay_scaled() -> None:
    wrap(
        "_amp_foreach_non_finite_check_and_unscale_",
        lambda whole, tensors, found, inverse: whole(tensors, found, inverse * 0 + 1),
    )


@broken("scale-stands-still", "a gradient scale that stands still", "amp")
def _stands_still() -> None:
    replace("_amp_update_scale_", lambda scale, *_: scale)


@broken("scale-not-loaded", "a gradient scaler whose state is not loaded", "amp")
def _scale_not_loaded() -> None:
    torch.amp.GradScaler.load_state_dict = lambda self, state: None  # type: ignore[method-assign]


@broken("unscaled-twice", "gradients that may be unscaled twice", "amp")
def _unscaled_twice() -> None:
    original = torch.amp.GradScaler.unscale_

    def unscale(self: Any, optimizer: Any) -> None:
        self._per_optimizer_states.pop(id(optimizer), None)
        original(self, optimizer)

    torch.amp.GradScaler.unscale_ = unscale  # type: ignore[method-assign]


@broken("gradients-in-half", "gradients that arrive in the lower precision", "amp")
def _gradients_in_half() -> None:
    original = torch.Tensor.grad.__get__  # type: ignore[attr-defined]
    torch.Tensor.grad = property(  # type: ignore[assignment]
        lambda self: None if original(self) is None else original(self).bfloat16(),
        torch.Tensor.grad.__set__,  # type: ignore[attr-defined]
    )
