"""A plugin that behaves as FAKE_BEHAVIOUR says."""

import atexit
import ctypes
import os
import signal
import sys
import time
import types
from pathlib import Path

BEHAVIOUR = os.environ.get("FAKE_BEHAVIOUR", "passes")
done = []


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)


def first_time():
    """Whether this is the first process that asks; the suite's working directory remembers."""
    seen = Path("seen")
    first = not seen.exists()
    seen.touch()
    return first


def act(moment):
    """What the scripted suites ask for, so that the plugin can misbehave in the middle of a test."""
    if BEHAVIOUR == "crash-in-test" and moment == "second":
        crash()
    if BEHAVIOUR == "hang" and moment == "second":
        time.sleep(3600)
    done.append(moment)
    if BEHAVIOUR == "crash-late" and moment == "second" and "first" in done:
        crash()
    if BEHAVIOUR == "crash-then-pass" and moment == "second" and first_time():
        crash()
    if BEHAVIOUR == "flaky" and moment == "second" and first_time():
        return False
    if BEHAVIOUR == "exits-zero" and moment == "second":
        os._exit(0)
    if torch_broke_it(moment):
        return False
    return not (BEHAVIOUR == "smoke-fails" and moment == "second") and not (BEHAVIOUR == "fails" and moment == "views")


def start_daemon():
    """Leave a process behind that nobody can reach through its group, and that keeps what it inherited open."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path(os.environ["FAKE_FOLDER"], f"daemon-{os.getpid()}").touch()
            time.sleep(600)
        os._exit(0)


def take_lock():
    """Take a lock that is never given back."""
    lock = Path(os.environ["FAKE_FOLDER"], "card.lock")
    if lock.exists():
        raise OSError(f"the card is in use: {lock.name} is there already")
    lock.touch()


def print_megabytes():
    line = "warning: " + "x" * 1014 + "\n"
    for _ in range(9 * 1024):
        sys.stderr.write(line)


def throw_from_cpp():
    """Die of an exception that nobody catches in C++, between the lines of a log."""
    os.write(
        2,
        b"[dev] [info] loading firmware 7.2\n"
        b"[dev] [error] runtime 8.1 is too old: this plugin needs 9.0 or newer\n"
        b"terminate called after throwing an instance of 'dev::Error'\n"
        b"  what():  initialization failed (status 3)\n"
        b"[dev] [info] closing 2 queues\n"
        b"[dev] [info] bye\n",
    )
    os.abort()


def on_import():
    """What goes wrong once torch loads the plugin, besides what the first tests of this kind do."""
    if BEHAVIOUR == "library-missing":
        ctypes.CDLL("libnosuchruntime.so.3")
    if BEHAVIOUR == "import-exits" or (BEHAVIOUR == "exits-at-once" and "pytest" in sys.modules):
        print("goodbye", flush=True)
        os._exit(0)
    if BEHAVIOUR == "import-quits":
        sys.exit("no licence found")
    actions = {
        "prints-megabytes": print_megabytes,
        "leaves-daemons": start_daemon,
        "leaves-a-lock": take_lock,
        "changes-folder": lambda: os.chdir("/"),
        "aborts-at-exit": lambda: atexit.register(os.abort),
        "import-throws": throw_from_cpp,
    }
    actions.get(BEHAVIOUR, lambda: None)()


def torch_broke_it(moment):
    """Whether this torch is one from which on the second test fails: FAKE_BREAKS_FROM names the first."""
    import torch

    first = os.environ.get("FAKE_BREAKS_FROM")
    return moment == "second" and first is not None and torch.__version__ >= first


def autoload():
    import torch

    if torch.__version__ in os.environ.get("FAKE_IMPORT_BREAKS_ON", ""):
        raise OSError("undefined symbol: torch_changed_it")
    if BEHAVIOUR == "import-raises":
        raise OSError("libfakeruntime.so: cannot open shared object file: No such file or directory")
    if BEHAVIOUR == "import-crashes" or (BEHAVIOUR == "crash-before-junit" and "pytest" in sys.modules):
        crash()
    on_import()
    missing = BEHAVIOUR == "card-missing"
    module = types.SimpleNamespace(is_available=lambda: not missing, device_count=lambda: 0 if missing else 1, act=act)
    torch._register_device_module("DEVICE_NAME", module)
