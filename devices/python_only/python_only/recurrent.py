"""The cells of LSTM and GRU on the CPU: PyTorch has these operators for accelerators only.

The arguments and results are those of the operators `_thnn_fused_lstm_cell` and `_thnn_fused_gru_cell` and of their
backward operators (ATen/native/native_functions.yaml). The workspace is what the backward pass needs, side by side.
"""

from __future__ import annotations

from typing import Any

import torch


def _lstm_cell(from_input: Any, from_hidden: Any, cx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    gates = from_input + from_hidden
    if input_bias is not None:
        gates = gates + input_bias + hidden_bias
    first, second, third, fourth = gates.chunk(4, 1)
    into, forget, cell, out = first.sigmoid(), second.sigmoid(), third.tanh(), fourth.sigmoid()
    cy = forget * cx + into * cell
    return out * cy.tanh(), cy, torch.cat([into, forget, cell, out], 1)


def _lstm_cell_backward(grad_hy: Any, grad_cy: Any, cx: Any, cy: Any, workspace: Any, has_bias: bool) -> Any:
    if grad_hy is None and grad_cy is None:
        return None, None, None
    into, forget, cell, out = workspace.chunk(4, 1)
    grad_hy = torch.zeros_like(cy) if grad_hy is None else grad_hy
    grad = grad_hy * out * (1 - cy.tanh() ** 2)
    if grad_cy is not None:
        grad = grad + grad_cy
    of_gates = (
        grad * cell * into * (1 - into),
        grad * cx * forget * (1 - forget),
        grad * into * (1 - cell**2),
        grad_hy * cy.tanh() * out * (1 - out),
    )
    gates = torch.cat(of_gates, 1)
    return gates, grad * forget, gates.sum(0) if has_bias else None


def _gru_cell(from_input: Any, from_hidden: Any, hx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    if input_bias is not None:
        from_input, from_hidden = from_input + input_bias, from_hidden + hidden_bias
    inputs, hiddens = from_input.chunk(3, 1), from_hidden.chunk(3, 1)
    reset, update = (inputs[0] + hiddens[0]).sigmoid(), (inputs[1] + hiddens[1]).sigmoid()
    fresh = (inputs[2] + reset * hiddens[2]).tanh()
    return fresh + update * (hx - fresh), torch.cat([reset, update, fresh, hx, hiddens[2]], 1)


def _gru_cell_backward(grad_hy: Any, workspace: Any, has_bias: bool) -> Any:
    reset, update, fresh, hx, hidden = workspace.chunk(5, 1)
    grad_fresh = grad_hy * (1 - update) * (1 - fresh**2)
    grad_update = grad_hy * (hx - fresh) * update * (1 - update)
    grad_reset = grad_fresh * hidden * reset * (1 - reset)
    inputs = torch.cat([grad_reset, grad_update, grad_fresh], 1)
    hiddens = torch.cat([grad_reset, grad_update, grad_fresh * reset], 1)
    biases = (inputs.sum(0), hiddens.sum(0)) if has_bias else (None, None)
    return inputs, hiddens, grad_hy * update, *biases


CELLS = {
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_backward,
    "_thnn_fused_gru_cell": _gru_cell,
    "_thnn_fused_gru_cell_backward": _gru_cell_backward,
}
