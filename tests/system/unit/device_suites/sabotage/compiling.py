"""Defects of compiled functions."""

from __future__ import annotations

from typing import Any

import torch

from sabotage import broken


def _compiled(change: Any) -> None:
    original = torch.compile

    def compile_(function: Any = None, **named: Any) -> Any:
        made = original(function, **named)
        return lambda *arguments, **more: change(made(*arguments, **more), arguments)

    torch.compile = compile_  # type: ignore[assignment]


@broken("compiled-is-inexact", "compiled functions that are six hundredths off", "compile")
def _inexact() -> None:
    _compiled(lambda result, _: result * 1.06)


@broken("compiled-ends-on-the-cpu", "compiled functions whose results are on the cpu", "compile")
def _on_the_cpu() -> None:
    _compiled(lambda result, _: result.cpu())


@broken("compiles-every-time", "functions that are compiled again for every shape", "compile")
def _every_time() -> None:
    import torch._dynamo  # not above: this module is loaded where torch itself has not imported Dynamo

    torch._dynamo.config.automatic_dynamic_shapes = False
    torch._dynamo.config.assume_static_by_default = True


@broken("graph-breaks", "factories that break the graph", "compile")
def _graph_breaks() -> None:
    import torch._dynamo

    original = torch.full

    @torch._dynamo.disable
    def full(*arguments: Any, **named: Any) -> Any:
        return original(*arguments, **named)

    torch.full = full  # type: ignore[assignment]


@broken("exports-one-shape", "exported programs that know one shape", "compile")
def _one_shape() -> None:
    original = torch.export.export
    torch.export.export = lambda *a, dynamic_shapes=None, **n: original(*a, **n)  # type: ignore[assignment]


@broken("guards-forget-the-device", "functions compiled for one device and used for the other", "compile")
def _forget_the_device() -> None:
    original = torch.compile

    def compile_(function: Any = None, **named: Any) -> Any:
        made, first = original(function, **named), []

        def call(*arguments: Any) -> Any:
            first.append(arguments[0].device)
            return made(*(one.to(first[0]) for one in arguments))

        return call

    torch.compile = compile_  # type: ignore[assignment]
