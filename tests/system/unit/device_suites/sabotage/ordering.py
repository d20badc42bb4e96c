"""Defects of streams and events: lies about what is done, and work in the wrong order."""

from __future__ import annotations

from typing import Any

import torch

from sabotage import DEVICE, broken
from sabotage.kernels import wrap


def _stream(**methods: Any) -> None:
    kind = type("Stream", (torch.Stream,), methods)
    torch.Stream = kind  # type: ignore[misc,assignment]


def _event(**methods: Any) -> None:
    torch.Event = type("Event", (torch.Event,), methods)  # type: ignore[misc,assignment]


@broken("lying-queries", "streams and events that always say done", "streams_events")
def _lying_queries() -> None:
    _stream(query=lambda self: True)
    _event(query=lambda self: True)


@broken("never-done", "streams and events that never say done", "streams_events")
def _never_done() -> None:
    _stream(query=lambda self: False)
    _event(query=lambda self: False)


@broken("event-orders-nothing", "an event that a stream does not wait for", "streams_events")
def _event_orders_nothing() -> None:
    _event(wait=lambda self, stream=None: None)


@broken("stream-waits-for-nothing", "a stream that does not wait for another", "streams_events")
def _stream_waits_for_nothing() -> None:
    _stream(wait_stream=lambda self, stream: None)


@broken("waiting-that-does-not-wait", "a `synchronize` that comes back at once", "streams_events")
def _does_not_wait() -> None:
    record = torch.Stream.record_event
    _event(synchronize=lambda self: None)
    _stream(synchronize=lambda self: None, record_event=lambda self, event=None: record(self, torch.Event(DEVICE)))


@broken("invented-time", "an elapsed time that was not measured", "streams_events")
def _invented_time() -> None:
    _event(elapsed_time=lambda self, other: 1.0)


@broken("priorities-ignored", "streams whose priority is accepted and ignored", "streams_events")
def _priorities_ignored() -> None:
    real = torch.Stream

    class Stream(real):  # type: ignore[misc,valid-type]
        def __new__(cls, device: Any = None, priority: int = 0, **named: Any) -> Any:
            return real.__new__(cls, device, **named)

    torch.Stream = Stream  # type: ignore[misc]


@broken("priorities-out-of-order", "streams with a priority that wait for no other", "streams_events")
def _out_of_order() -> None:
    real = torch.Stream

    class Stream(real):  # type: ignore[misc,valid-type]
        def __new__(cls, device: Any = None, priority: int = 0, **named: Any) -> Any:
            stream = real.__new__(cls, device, priority=priority, **named)
            stream.hasty = priority < 0
            return stream

        def wait_stream(self, stream: Any) -> None:
            if not self.hasty:
                super().wait_stream(stream)

    torch.Stream = Stream  # type: ignore[misc]


@broken("stream-context-stays", "a stream that stays current after its block", "streams_events")
def _context_stays() -> None:
    _stream(__exit__=lambda self, *_: None)


@broken("stream-cannot-be-set", "a current stream that does not change", "streams_events")
def _cannot_be_set() -> None:
    torch.accelerator.set_stream = lambda *_: None


@broken("one-stream-for-all-threads", "a current stream that all threads share", "streams_events")
def _for_all_threads() -> None:
    current: list[Any] = []
    enter, leave = torch.Stream.__enter__, torch.Stream.__exit__
    original = torch.accelerator.current_stream

    def begin(self: Any) -> Any:
        current.append(self)
        return enter(self)

    def end(self: Any, *exception: Any) -> None:
        current.pop()
        leave(self, *exception)

    _stream(__enter__=begin, __exit__=end)
    torch.accelerator.current_stream = lambda *a: current[-1] if current else original(*a)


@broken("forgotten-use", "`record_stream` that is forgotten", "streams_events")
def _forgotten_use() -> None:
    wrap("record_stream", lambda whole, *_: None)


@broken("streams-of-the-first-card", "streams that are all on the first card", "streams_events", "device")
def _of_the_first_card() -> None:
    real = torch.Stream

    class Stream(real):  # type: ignore[misc,valid-type]
        def __new__(cls, device: Any = None, **named: Any) -> Any:
            return real.__new__(cls, torch.device(DEVICE, 0), **named)

    torch.Stream = Stream  # type: ignore[misc]


@broken("downloads-out-of-order", "copies to the cpu that do not wait for the work", "streams_events", "training")
def _downloads_out_of_order() -> None:
    def copy(whole: Any, source: Any, target: Any, non_blocking: bool = False) -> Any:
        if target.device.type == DEVICE:
            return whole(source, target, non_blocking)
        with torch.Stream(DEVICE):
            return whole(source, target, non_blocking)

    wrap("_copy_from", copy)
