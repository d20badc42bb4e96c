"""Several processes that work together, for tests of parallel training. Needs torch."""

from __future__ import annotations

import datetime
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import torch
import torch.distributed
import torch.multiprocessing

from harness.refusals import Refused, refusal

TIMEOUT_SECONDS = 90.0

Job = Callable[[torch.device, int, int], None]
Problem = tuple[str, str | None]
"""The text of a rank that failed, and the device's refusal in it."""


def backend_for(device_name: str) -> str | None:
    """The process group backend that torch has registered for the device, if any."""
    found: str | None = torch.distributed.Backend.default_device_backend_map.get(device_name)
    return found


class Ranks:
    """Spawned processes of one process group, which run one job after the other.

    They are kept from test to test, because starting them takes far longer than most jobs. After a failure they are
    of no use any more: some may wait for one that is gone.

    Args:
        device_name: the ranks take its cards in turn.
        backend: of the process group.
        folder: an empty one, where the processes meet.
        count: how many.

    """

    def __init__(self, device_name: str, backend: str, folder: Path, *, count: int = 2) -> None:
        context = torch.multiprocessing.get_context("spawn")
        self.usable = True
        self._connections: list[Connection] = []
        self._processes = []
        for rank in range(count):
            ours, theirs = context.Pipe()
            arguments = (theirs, device_name, backend, str(folder / "meeting-point"), rank, count)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._connections.append(ours)
            self._processes.append(process)

    def run(self, job: Job) -> str:
        """Run a job on every rank; the texts of those that failed, died or did not answer, empty when all is well.

        Args:
            job: a function of a module; called with the rank's device, the rank and the number of ranks.

        Raises:
            Refused: the device refused the job on every rank.

        """
        deadline = time.monotonic() + TIMEOUT_SECONDS
        self.usable = False
        for connection in self._connections:
            connection.send(job)
        answers = [self._answer(rank, deadline) for rank in range(len(self._processes))]
        problems = [f"rank {rank}: {answer[0]}" for rank, answer in enumerate(answers) if answer is not None]
        self.usable = not problems
        refused = [answer[1] for answer in answers if answer is not None and answer[1] is not None]
        if len(refused) == len(answers):
            raise Refused(refused[0])
        return "\n".join(problems)

    def stop(self) -> None:
        """End the processes."""
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            process.join(10 if self.usable else 0)
            if process.is_alive():
                process.kill()
                process.join()

    def _answer(self, rank: int, deadline: float) -> Problem | None:
        connection, process = self._connections[rank], self._processes[rank]
        try:
            if not connection.poll(max(deadline - time.monotonic(), 0)):
                return f"no answer within {TIMEOUT_SECONDS:.0f} s", None
            answer: Problem | None = connection.recv()
        except (EOFError, OSError):
            process.join(10)
            return f"the process ended with exit code {process.exitcode}", None
        return answer


def _serve(connection: Connection, device_name: str, backend: str, meeting_point: str, rank: int, count: int) -> None:
    """Join the group, and do one job after the other until nobody asks any more."""
    problem: Problem | None = None
    device = torch.device(device_name)
    try:
        if device_name != "cpu":
            device = torch.device(device_name, rank % torch.accelerator.device_count())
            torch.accelerator.set_device_index(device.index)
        torch.distributed.init_process_group(
            backend,
            init_method=f"file://{meeting_point}",
            rank=rank,
            world_size=count,
            timeout=datetime.timedelta(seconds=TIMEOUT_SECONDS / 2),
        )
    except Exception as error:
        problem = traceback.format_exc(), refusal(error, device_name)
    while True:
        try:
            job: Job = connection.recv()
        except EOFError:
            break
        if problem is None:
            try:
                job(device, rank, count)
            except Exception as error:
                problem = traceback.format_exc(), refusal(error, device_name)
        connection.send(problem)
    if problem is None:
        torch.distributed.destroy_process_group()
