"""The page that explains every word on the other pages."""

from __future__ import annotations

from ootci.history.ever_failed import NIGHTS
from ootci.history.flakiness import LATELY, SAMPLE, TURNS
from ootci.history.gc import ACCURACY_RUNS, MEASURES_RUNS, TEXTS_NIGHTS
from ootci.history.named import KEPT
from ootci.model.device import LONGEST_RANGE

from .feed import NIGHTS as FEED_NIGHTS
from .page_maker import PageMaker
from .pages.accuracy import RULE
from .pages.runs import RECENT_NIGHTS
from .publish import File
from .status import OUTCOMES, VERDICTS
from .trend_series import DAYS, RESIZED


def method_page(maker: PageMaker) -> File:
    """How each word is shown, how right the gate was, and the numbers of the rules."""
    return maker.show(
        "method/index.html",
        "method.html",
        gate=maker.verdicts.gate_record,
        verdict_looks={name.value: status for name, status in VERDICTS.items()},
        outcome_looks={name.value: status for name, status in OUTCOMES.items()},
        feed_nights=FEED_NIGHTS,
        lately=LATELY,
        turns=TURNS,
        sample=SAMPLE,
        trend_days=DAYS,
        resized=f"{RESIZED:.0%}",
        texts_nights=TEXTS_NIGHTS,
        recent_nights=RECENT_NIGHTS,
        measures_runs=MEASURES_RUNS,
        accuracy=RULE,
        accuracy_runs=ACCURACY_RUNS,
        longest_range=LONGEST_RANGE.days,
        test_nights=NIGHTS,
        kept_names=KEPT,
    )
