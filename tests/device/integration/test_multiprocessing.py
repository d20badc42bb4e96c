"""Processes: spawned ones that use the device, and forked ones that must not hang."""

from __future__ import annotations

import pytest
import torch
import torch.multiprocessing as processes

from harness.compare import assert_matches, numbers, put
from harness.datasets import compute_on, double_what_comes
from harness.outcomes import unsupported
from harness.process import run_python

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
    print(queue.get().to(sys.argv[1]).sum().item())
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


def test_fork_before_use(device_name: str) -> None:
    """A process forked before the device was used can use it itself."""
    code = """
import os, sys
import torch
child = os.fork()
if child == 0:
    right = (torch.ones(3, device=sys.argv[1]) + 1).sum().item() == 6
    os._exit(0 if right else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(code, device_name).strip() == "0"


@pytest.mark.device_only("a forked process may use it")
def test_fork_after_use_is_refused_or_works(device_name: str) -> None:
    """A process forked after the device was used gets an error that speaks of forking, or right results; no hang."""
    code = """
import os, sys, threading
import torch
torch.ones(3, device=sys.argv[1]).sum().item()
child = os.fork()
if child == 0:
    threading.Timer(30, lambda: os._exit(3)).start()
    try:
        right = (torch.ones(3, device=sys.argv[1]) + 1).sum().item() == 6
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
