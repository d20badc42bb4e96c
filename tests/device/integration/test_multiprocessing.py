"""Processes: spawned ones that use the device, and forked ones that must not hang."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest
import torch
import torch.multiprocessing as processes

from harness.compare import assert_matches, numbers, put
from harness.datasets import compute_on, double_what_comes
from harness.device import synchronize
from harness.outcomes import unsupported
from harness.process import run_python
from harness.sharing import answer, described, other_process, receive, send_and_end

pytestmark = pytest.mark.capability("multiprocessing")


def test_spawned_workers_use_the_device(device: torch.device, device_name: str) -> None:
    """Two spawned processes use the device while this one does, and give back right results."""
    there = put(numbers(100), device)
    with processes.get_context("spawn").Pool(2) as pool:
        pending = [pool.apply_async(compute_on, (device_name, [float(n), 1.5])) for n in range(4)]
        assert_matches(there * 2, numbers(100) * 2, device)
        for number, result in enumerate(pending):
            assert result.get(timeout=90) == [2.0 * number, 3.0]


def test_cpu_tensors_go_through_a_queue(device: torch.device) -> None:
    """Copies of the device's tensors on the cpu go through a spawned process's queue."""
    code = """
import sys
import torch
import torch.multiprocessing as processes

if __name__ == "__main__":
    there = torch.arange(5.0, device=sys.argv[1])
    queue = processes.get_context("spawn").SimpleQueue()
    queue.put(there.cpu())
    print(queue.get().to(sys.argv[1]).cpu().sum().item())
"""
    assert run_python(code, device.type).strip() == "10.0"


def test_device_tensors_go_to_another_process(device: torch.device) -> None:
    """A Parameter on the device goes to a spawned process and a result comes back right, or it is refused at once."""
    there = torch.nn.Parameter(put(numbers(5), device))
    context = processes.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=double_what_comes, args=(theirs,), daemon=True)
    worker.start()
    try:
        try:
            ours.send(there)
        except (RuntimeError, NotImplementedError) as error:
            unsupported(f"tensors on this device cannot be sent to another process: {error}")
        assert ours.poll(90), "the other process does not answer"
        assert_matches(ours.recv(), numbers(5) * 2, device)
        ours.send("thank you")
        worker.join(30)
        assert worker.exitcode == 0
    finally:
        worker.kill()
        worker.join()


@pytest.fixture(scope="module")
def receiver() -> Iterator[Connection]:
    """A process that takes tensors."""
    with other_process(receive) as (connection, _):
        yield connection


def _sent(receiver: Connection, what: str, *tensors: torch.Tensor) -> object:
    try:
        receiver.send((what, tensors))
    except (RuntimeError, NotImplementedError) as error:
        unsupported(f"tensors on this device cannot be sent to another process: {error}")
    return answer(receiver)


def test_sent_tensor_is_shared(device: torch.device, receiver: Connection) -> None:
    """A tensor that went to another process is the same memory there: what either writes, both see.

    torch.multiprocessing: only a handle goes to the other process.
    """
    there = put(numbers(50), device)
    _sent(receiver, "add one", there)
    assert_matches(there, numbers(50) + 1, device)
    there.mul_(2)
    synchronize(device.type)
    assert _sent(receiver, "look") == [described((numbers(50) + 1) * 2)]


def test_sent_views_keep_offset_and_strides(device: torch.device, receiver: Connection) -> None:
    """Views arrive with their offset and strides, and those of one tensor still share its memory.

    torch/multiprocessing/reductions.py, reduce_tensor: a tensor is sent as storage, offset, size and strides.
    """
    values = numbers(6, 8)
    base = put(values, device)
    views = (base[2:], base[:, ::3], base.t(), base[1, 3])
    assert _sent(receiver, "look", *views) == [
        described(view) for view in (values[2:], values[:, ::3], values.t(), values[1, 3])
    ]
    _sent(receiver, "add one", base[4:], base[:, 7])
    values[4:] += 1
    values[:, 7] += 1
    assert_matches(base, values, device)
    assert _sent(receiver, "look", put(torch.empty(0, 3), device)) == [((0, 3), (3, 1), 0, [])]


def test_received_tensor_is_sent_on_or_refused(device: torch.device, receiver: Connection) -> None:
    """A tensor from another process that is sent on is refused as PyTorch refuses it, or arrives.

    The words are those of torch/csrc/StorageSharing.cpp, which refuses it for CUDA.
    """
    seen = _sent(receiver, "send on", put(numbers(9), device))
    if isinstance(seen, str):
        assert "received from another process" in seen
        assert "clon" in seen, "the remedy is a clone"
    else:
        assert isinstance(seen, tuple)
        assert_matches(seen[0], numbers(9), device)


def test_shared_memory_is_not_reused(device: torch.device, receiver: Connection) -> None:
    """Memory that the sender dropped is not given to other tensors while the receiver has it, and is afterwards.

    torch.multiprocessing, "Sharing CUDA tensors": reference counting keeps what another process still has.
    """
    size = 1 << 20
    there = put(numbers(size), device)
    assert _sent(receiver, "look", there[:10]) == [described(numbers(size)[:10])]
    del there
    synchronize(device.type)
    others = [torch.full((size,), float("nan"), device=device) for _ in range(4)]
    synchronize(device.type)
    assert _sent(receiver, "look") == [described(numbers(size)[:10])]
    del others
    _sent(receiver, "drop")
    assert_matches(put(numbers(size), device) + 1, numbers(size) + 1, device)


def test_sender_ends_while_the_receiver_holds(device: torch.device, device_name: str) -> None:
    """A process that sent a tensor ends with exit code 0 while the receiver still holds it, and the receiver goes on.

    torch.multiprocessing, "Sharing CUDA tensors": what the receiver then finds in it is not defined, and not asked.
    """
    with other_process(send_and_end, device_name) as (connection, sender):
        held = answer(connection)
        if isinstance(held, str):
            unsupported(f"tensors on this device cannot be sent to another process: {held}")
        connection.send("taken")
        sender.join(90)
        assert sender.exitcode == 0, f"the sender ended with {sender.exitcode}"
    del held
    assert_matches(put(numbers(5), device) + 1, numbers(5) + 1, device)


def test_fork_before_use(device_name: str) -> None:
    """A process forked before the device was used can use it itself.

    It does not apply to a device that refuses that with an error that speaks of forking, as CUDA does after its use.
    `import torch` alone is no use.
    """
    code = """
import os, sys
import torch
ask = getattr(getattr(torch, sys.argv[1], None), "is_initialized", None)
# The module that torch has for a back end in Python always answers yes.
is_default = getattr(ask, "__module__", None) == "torch.utils.backend_registration"
is_used = ask is not None and not is_default and ask()
child = os.fork()
if child == 0:
    try:
        right = (torch.ones(3, device=sys.argv[1]) + 1).tolist() == [2, 2, 2]
    except RuntimeError as error:
        print(error, flush=True)
        os._exit(2 if "fork" in str(error).lower() else 1)
    os._exit(0 if right else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), is_used)
"""
    *said, last = run_python(code, device_name).strip().splitlines()
    code, is_used = last.split()
    if code == "2":
        assert is_used == "False", (
            f"`import torch` initializes the device, so that no forked process can use it: {said[0]}"
        )
        pytest.skip(f"the device cannot be used after a fork: {said[0]}")
    assert code == "0", "\n".join(said)


@pytest.mark.device_only("a forked process may use it")
def test_fork_after_use_is_refused_or_works(device_name: str) -> None:
    """A process forked after the device was used gets an error that speaks of forking, or right results; no hang."""
    code = """
import os, sys, threading
import torch
torch.ones(3, device=sys.argv[1]).tolist()
child = os.fork()
if child == 0:
    threading.Timer(30, lambda: os._exit(3)).start()
    try:
        right = (torch.ones(3, device=sys.argv[1]) + 1).tolist() == [2, 2, 2]
    except RuntimeError as error:
        os._exit(0 if "fork" in str(error).lower() else 2)
    os._exit(0 if right else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    meaning = {"0": "fine", "1": "a wrong result", "2": "an error that does not speak of forking", "3": "a hang"}
    said = run_python(code, device_name).strip()
    assert said == "0", f"the forked process ended with {meaning.get(said, said)}"


def test_process_ends_cleanly(device_name: str) -> None:
    """A process that used the device, its threads, streams and autograd ends with exit code 0."""
    code = """
import sys, threading
import torch
there = torch.ones(64, 64, device=sys.argv[1], requires_grad=True)

def work():
    (there @ there).sum().backward()

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
kept = there @ there
if sys.argv[1] != "cpu":
    stream = torch.Stream(sys.argv[1])
    with stream:
        kept = kept @ there
print("done")
"""
    assert run_python(code, device_name).strip() == "done"
