"""A few of many, evenly spread."""

from __future__ import annotations


def spread(count: int, limit: int) -> list[int]:
    """At most ``limit`` of the indices below ``count``, in order, evenly spread and with the first one."""
    if count <= limit:
        return list(range(count))
    return [index * count // limit for index in range(limit)]
