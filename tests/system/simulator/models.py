"""Small models on some invented devices, in the sample site only: the verdicts of the year do without them."""

from __future__ import annotations

from random import Random

from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.training import Training

SUITE = "models"
STEPS = {"cnn": 120, "decoder": 90, "encoder": 110, "experts": 60, "graph": 300, "lstm": 75, "unet": 25}
"""Steps in a second on the CPU, by model."""
MEGABYTES = {"cnn": 9, "decoder": 14, "encoder": 12, "experts": 20, "graph": 3, "lstm": 6, "unet": 31}
TESTS = (
    "inference",
    "training",
    "training_on_two_cards",
    "compiled_training",
    "training_with_mixed_precision",
    "training_resumes",
)
TIMES = {"openreg": 0.6, "borealis": 7.0, "cobalt": 3.5}
"""How many times the CPU's steps each device makes, about."""
LACKS = {"borealis": ("lstm",), "cobalt": ("experts", "graph")}
"""Models that cannot be compiled on a device."""


def model_tests(device: str, night: int) -> list[Outcome]:
    """The outcomes of the suite ``models``; none where the device does not run it."""
    tests = [(test, model) for test in TESTS for model in STEPS] if device in TIMES else []
    return [_outcome(device, night, test, model) for test, model in tests]


def _outcome(device: str, night: int, test: str, model: str) -> Outcome:
    refuses = test == "compiled_training" and model in LACKS.get(device, ())
    return Outcome(
        id=f"{SUITE}/test_models.py::test_{test}[{model}]",
        suite=SUITE,
        outcome=OutcomeName.UNSUPPORTED if refuses else OutcomeName.PASSED,
        duration=0.4,
        message="no kernel for aten::_scaled_mm" if refuses else None,
        training=_training(device, night, model) if test == "training" else None,
    )


def _training(device: str, night: int, model: str) -> Training:
    # Each model suits each device the same every night, and no two nights are alike.
    suits = Random(f"{device}/{model}").uniform(0.5, 1.5)  # noqa: S311 - nothing secret
    noise = Random(f"{device}/{model}/{night}").uniform(0.97, 1.03)  # noqa: S311 - nothing secret
    times = TIMES[device] * suits * noise
    return Training(round(times * STEPS[model], 1), round(times, 2), MEGABYTES[model] << 20)
