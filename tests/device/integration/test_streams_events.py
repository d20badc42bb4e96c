"""Streams and events: what is asynchronous, and in which order it happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
import torch

from harness.compare import assert_matches, assert_on, numbers, put
from harness.load import Load, told_done_too_early
from harness.outcomes import unsupported

pytestmark = [
    pytest.mark.capability("streams_events"),
    pytest.mark.device_only("it runs nothing asynchronously"),
]

ATTEMPTS = 3


@pytest.fixture(scope="module")
def load(device: torch.device) -> Load:
    """Work that takes a while."""
    return Load(device)


def _assert_honest(attempt: Callable[[], str | None]) -> None:
    """Assert that a device does not tell lies; a machine that was late once is not a lie, so it takes several."""
    seen = [attempt() for _ in range(ATTEMPTS)]
    assert not all(seen), f"{ATTEMPTS} times out of {ATTEMPTS}, work was reported as done before it was: {seen[-1]}"


def test_stream_query_is_false_while_busy(device: torch.device, load: Load) -> None:
    """`Stream.query()` is false while work of the stream still runs, and true after waiting."""

    def attempt() -> str | None:
        stream = torch.Stream(device)
        with stream:
            seen = told_done_too_early(load, stream.query, stream.synchronize)
        assert stream.query() is True, "the stream was waited for, and is still reported as busy"
        return seen

    _assert_honest(attempt)


def test_event_query_is_false_until_reached(device: torch.device, load: Load) -> None:
    """`Event.query()` is false until the work recorded before it is done."""

    def attempt() -> str | None:
        stream, event = torch.Stream(device), torch.Event(device)

        def enqueue() -> None:
            with stream:
                load()
                event.record(stream)

        seen = told_done_too_early(enqueue, event.query, event.synchronize)
        assert event.query() is True, "the event was waited for, and is still reported as not reached"
        return seen

    _assert_honest(attempt)


def test_idle_stream_is_done(device: torch.device, load: Load) -> None:
    """A stream without work is done, also while another one is busy."""
    busy, idle = torch.Stream(device), torch.Stream(device)
    with busy:
        load()
    assert idle.query() is True
    idle.synchronize()
    busy.synchronize()


def _assert_ordered(
    device: torch.device, load: Load, producer: torch.Stream, consumer: torch.Stream, order: Callable[[], object]
) -> None:
    """Assert that the consumer sees what the producer did before ``order`` was called."""
    target = torch.zeros(1000, device=device)
    torch.accelerator.synchronize()
    with producer:
        # The result of the slow work decides what is written, so the write cannot come before it.
        target.add_(load()[0, 0] * load.expected().shape[0])
    order()
    with consumer:
        seen = target * 2
    consumer.synchronize()
    assert_matches(seen, torch.full((1000,), 2.0), device)


def test_event_orders_two_streams(device: torch.device, load: Load) -> None:
    """A stream that waits for an event sees what the other stream did before the event."""
    producer, consumer, event = torch.Stream(device), torch.Stream(device), torch.Event(device)

    def order() -> None:
        event.record(producer)
        event.wait(consumer)

    _assert_ordered(device, load, producer, consumer, order)


def test_stream_waits_for_stream(device: torch.device, load: Load) -> None:
    """`Stream.wait_stream` orders all that was enqueued before it."""
    producer, consumer = torch.Stream(device), torch.Stream(device)
    _assert_ordered(device, load, producer, consumer, lambda: consumer.wait_stream(producer))


def test_event_recorded_by_stream_can_be_waited_for(device: torch.device, load: Load) -> None:
    """`Stream.record_event` gives an event; after `synchronize` the work before it is done."""
    stream = torch.Stream(device)
    with stream:
        result = load()
    event = stream.record_event()
    event.synchronize()
    assert event.query() is True
    assert_matches(result, load.expected(), device)


def test_copy_to_cpu_waits_for_the_work(device: torch.device, load: Load) -> None:
    """`.cpu()` and `.item()` give finished results without any synchronisation by hand."""
    for number in (2.0, 3.0, 4.0):  # memory that still has the result before this one has other elements
        assert_matches(load() * number, load.expected() * number, device)
        assert (load() * number)[-1, -1].item() == pytest.approx(load.expected()[-1, -1].item() * number, rel=1e-3)


def test_non_blocking_copy_to_device_is_ordered(device: torch.device, load: Load) -> None:
    """Work after a `non_blocking` copy on the same stream uses the copied elements."""
    values = numbers(1000)
    load()
    there = values.to(device, non_blocking=True)
    assert_matches(there + 1, values + 1, device)


def test_elapsed_time_is_real(device: torch.device, load: Load) -> None:
    """The time between two events is the time that the work took."""
    start, end = torch.Event(device, enable_timing=True), torch.Event(device, enable_timing=True)
    torch.accelerator.synchronize()
    before = time.monotonic()
    start.record()
    load()
    end.record()
    end.synchronize()
    wall = (time.monotonic() - before) * 1000
    elapsed = start.elapsed_time(end)
    assert 0.2 * wall <= elapsed <= 1.1 * wall + 5, f"{elapsed:.1f} ms between the events, {wall:.1f} ms on the clock"


def test_elapsed_time_needs_timing(device: torch.device) -> None:
    """Events without timing refuse to tell an elapsed time."""
    start, end = torch.Event(device, enable_timing=False), torch.Event(device, enable_timing=False)
    start.record()
    end.record()
    end.synchronize()
    with pytest.raises((RuntimeError, ValueError)):
        start.elapsed_time(end)


def _urgent_stream(device: torch.device) -> torch.Stream:
    try:
        return torch.Stream(device, priority=-1)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        unsupported(f"the device refuses priorities: {error}")


def _another_stream(device: torch.device) -> torch.Stream:
    """A stream beside the current one; a device that computes one thing after the other may have no other."""
    stream = torch.Stream(device)
    if stream == torch.accelerator.current_stream():
        unsupported("each new stream is the default one")
    return stream


def test_stream_with_a_priority(device: torch.device, load: Load) -> None:
    """Work on a stream with a priority is done, and ordered by events as on any other.

    torch.Stream: a negative priority is a higher one. FSDP requests such streams.
    """
    urgent, usual = _urgent_stream(device), _another_stream(device)
    assert urgent != usual
    _assert_ordered(device, load, usual, urgent, lambda: urgent.wait_stream(usual))


def test_priority_has_an_effect(device: torch.device, load: Load) -> None:
    """Where two streams compete, work with the higher priority is done before less work that was enqueued earlier.

    torch.Stream: a negative priority is a higher one.
    """
    urgent = _urgent_stream(device)
    late: list[bool] = []
    for _ in range(ATTEMPTS):
        usual = torch.Stream(device)
        with usual:
            load()
            load()
        if usual.query():
            continue  # nothing to compete with
        with urgent:  # more of it, so it is first by its priority only
            for _ in range(4):
                load()
        urgent.synchronize()
        late.append(usual.query())
        usual.synchronize()
    if not late:
        unsupported("no work competes with that of another stream")
    assert sum(late) <= len(late) / 2, (
        f"{sum(late)} times out of {len(late)}, a stream with priority -1 was done after one with priority 0"
    )


def test_stream_context_is_left(device: torch.device) -> None:
    """`with stream:` makes it current, and the one before comes back, also after an exception."""
    before = torch.accelerator.current_stream()
    stream = _another_stream(device)
    with stream:
        assert torch.accelerator.current_stream() == stream
        inner = torch.Stream(device)
        with inner:
            assert torch.accelerator.current_stream() == inner
        assert torch.accelerator.current_stream() == stream
    assert torch.accelerator.current_stream() == before
    with pytest.raises(ArithmeticError), stream:
        raise ArithmeticError
    assert torch.accelerator.current_stream() == before


def test_set_stream(device: torch.device) -> None:
    """`torch.accelerator.set_stream` makes a stream current, and work runs on it."""
    before = torch.accelerator.current_stream()
    stream = torch.Stream(device)
    try:
        torch.accelerator.set_stream(stream)
        assert torch.accelerator.current_stream() == stream
        assert_matches(torch.ones(3, device=device) + 1, torch.full((3,), 2.0), device)
    finally:
        torch.accelerator.set_stream(before)


def test_current_stream_is_per_thread(device: torch.device) -> None:
    """A stream that one thread made current is not current in another thread."""
    default = torch.accelerator.current_stream()
    seen: list[torch.Stream] = []
    with _another_stream(device) as stream:
        thread = threading.Thread(target=lambda: seen.append(torch.accelerator.current_stream()))
        thread.start()
        thread.join()
    assert seen != [stream]
    assert seen == [default]


def test_record_stream_keeps_memory(device: torch.device, load: Load) -> None:
    """Memory that another stream still uses is not given away, once `record_stream` has told of the use."""
    side = torch.Stream(device)
    values = numbers(64, 1024)
    for _ in range(3):
        there = put(values, device)
        torch.accelerator.synchronize()
        with side:
            load()
            seen = there * 1
        there.record_stream(side)
        del there
        # A new owner of the memory would overwrite what the side stream has not read yet.
        others = [torch.full((64, 1024), float("nan"), device=device) for _ in range(8)]
        side.synchronize()
        assert_matches(seen, values, device)
        del others


@pytest.mark.needs_devices(2)
def test_streams_belong_to_a_card(device_name: str) -> None:
    """A stream of the second card runs its work there and leaves the current card alone."""
    second = torch.device(device_name, 1)
    current = torch.accelerator.current_device_index()
    stream = torch.Stream(second)
    assert stream.device == second
    with stream:
        result = torch.ones(4, device=second) + 1
    stream.synchronize()
    assert_on(result, second)
    assert result.tolist() == [2.0] * 4
    assert torch.accelerator.current_device_index() == current
