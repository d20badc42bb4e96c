"""Predictions of planted wheels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from unit.stages.compat.wheels import write_wheel

from ootci.model.compat import FindingKind, Prediction
from ootci.stages.compat import TorchWheel, predict, read_plugin

MADE_FOR = "Requires-Dist: torch==2.13.0\n"
SOURCES = {
    "torch_card/__init__.py": "from torch.utils.gone import helper\nfrom torch import Tensor, late\n"
    "import torch.lazy\n",
    "torch_card/guarded.py": "try:\n    from torch.utils.gone import tried\nexcept ImportError:\n    pass\n"
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.utils.gone import typed\n",
    "torch_card/ops.py": "import torch\ndef f():\n    return torch.ops.aten.full.names(1)\n",
    "torch_card/made.py": "from torch.lazy import made\n",
}

Predict = Callable[..., Prediction]


def predicted(
    folder: Path, torches: tuple[TorchWheel, TorchWheel], files: Mapping[str, str | bytes], on: int = 1, **more: str
) -> Prediction:
    """What is predicted of a plugin's wheel with these files."""
    operators = {name for torch in torches for name in torch.operators}
    wheel = write_wheel(folder, "torch_card", "1.0", files, **more)
    return predict(read_plugin(wheel, "card", operators), torches[on], torches)


def texts(prediction: Prediction, kind: FindingKind) -> list[str]:
    """The findings of a kind, as people read them."""
    return [finding.text for finding in prediction.findings if finding.kind is kind]
