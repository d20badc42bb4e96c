"""Stands for the device's Python: plays a script instead of pytest and speaks the event log's protocol.

The script is JSON in FAKE_SCRIPT: a list of processes, each a list of steps. The number of processes that were
started before is the number of lines in the file ``starts``. One that stands by counts once it is told what to run, or
does what FAKE_SPARE says: ``dies`` at once, ``fails`` when it is told.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

options = dict(zip(sys.argv, sys.argv[1:], strict=False))
spare = os.environ.get("FAKE_SPARE")
told = None
if "--stand-by" in options:
    with Path("spares").open("a") as stream:
        stream.write(" ".join(sys.argv[1:]) + "\n")
    if spare == "dies":
        sys.exit(4)
    with os.fdopen(int(options["--stand-by"])) as stream:
        told = stream.read()
    if not told or spare == "fails":
        sys.exit(4)
with Path("starts").open("a+") as stream:
    stream.seek(0)
    number = len(stream.readlines())
    stream.write(" ".join(sys.argv[1:]) + "\n")
if told is not None:
    Path(f"asked.{number}").write_text(told)
if "--ids-from" in options:
    Path(f"asked.{number}").write_bytes(Path(options["--ids-from"]).read_bytes())


def tell(**event):
    with Path(options["--events"]).open("ab", buffering=0) as log:
        log.write(json.dumps(event).encode() + b"\n")


attempt = {"attempt": int(options["--attempt"])} if "--attempt" in options else {}
scripts = json.loads(os.environ["FAKE_SCRIPT"])
for step in scripts[min(number, len(scripts) - 1)]:
    kind, _, argument = step.partition(" ")
    if kind == "collect":
        tests = [{"id": name, "suite": "smoke", "capability": "rng", "title": "A title."} for name in argument.split()]
        tell(event="collected", tests=tests)
    elif kind == "start":
        tell(event="test_start", id=argument, **attempt)
    elif kind == "end":
        name, _, outcome = argument.partition("=")
        tell(event="test_end", id=name, outcome=outcome, duration=0.1, message=outcome, **attempt)
    elif kind == "broken":
        tell(event="collect_error", id=argument, message="SyntaxError: no", text="line 1")
    elif kind == "finish":
        tell(event="session_end", exit_status=int(argument))
        sys.exit(int(argument))
    elif kind == "raw":
        with Path(options["--events"]).open("ab", buffering=0) as log:
            log.write(argument.encode().decode("unicode_escape").encode("latin-1"))
    elif kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(60)
    elif kind == "stacks":
        Path(options["--stack-file"]).write_text(argument)
    elif kind == "hang":
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        time.sleep(60)
    elif kind == "late":
        signal.signal(signal.SIGUSR1, lambda *_: None)
        signal.pause()
    elif kind == "wait":
        give_up, standing = time.monotonic() + 20, Path("spares")
        while time.monotonic() < give_up:
            if standing.exists() and len(standing.read_text().splitlines()) >= int(argument):
                break
            time.sleep(0.01)
    elif kind == "sleep":
        time.sleep(float(argument))
    elif kind == "make":
        Path(argument).touch()
    elif kind == "await":
        give_up = time.monotonic() + 20
        while not Path(argument).exists() and time.monotonic() < give_up:
            time.sleep(0.01)
        if not Path(argument).exists():
            sys.exit(f"there never was {argument}")
    elif kind == "daemon":
        code = f"import os, time; open({argument!r}, 'w').write(str(os.getpid())); time.sleep(600)"
        subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
        while not Path(argument).exists() or not Path(argument).read_text():
            time.sleep(0.01)
    elif kind == "exit":
        os._exit(int(argument))
    elif kind == "shout":
        for _ in range(int(argument)):
            os.write(1, b"x" * 65536)
    elif kind == "print":
        os.write(1, f"{argument}\n".encode())
    else:
        raise SystemExit(f"no such step: {step}")
