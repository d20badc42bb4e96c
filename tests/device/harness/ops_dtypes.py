"""The option ``--ops-dtypes``: which dtypes of the suite ops are run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.options import usage_error

ALL = "all"


def dtype_name(dtype: object) -> str:
    """The name of a dtype of torch, as tests and the option have it."""
    return str(dtype).removeprefix("torch.")


def chosen_dtypes(asked: str, known: Iterable[str]) -> frozenset[str]:
    """The dtypes that were requested.

    Args:
        asked: the option's value.
        known: what there is.

    Raises:
        pytest.UsageError: a name is not known.

    """
    there = tuple(dict.fromkeys(known))
    if asked == ALL:
        return frozenset(there)
    names = frozenset(name.strip() for name in asked.split(",") if name.strip())
    unknown = sorted(names - set(there))
    if unknown or not names:
        raise usage_error(
            f"no such dtype in the suite ops: {', '.join(unknown) or 'none was named'}",
            f"the option --ops-dtypes {asked}",
            f"use {ALL}, or some of: {', '.join(there)}",
        )
    return names


def ids_are_given(places: Sequence[str], ids_from: object, stand_by: object = None) -> bool:
    """Whether tests were named one by one, by pytest's arguments or ``--ids-from``, or will be after ``--stand-by``."""
    return ids_from is not None or stand_by is not None or any("::" in place for place in places)
