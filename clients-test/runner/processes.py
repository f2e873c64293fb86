"""Runs programs with a timeout, and kills their descendants."""

import dataclasses
import os
import signal
import subprocess
import tempfile
import threading
import time

_running = set()
_lock = threading.Lock()
_ended = False


@dataclasses.dataclass
class Outcome:
    """The result of a program: its exit status, None if it was killed, and its output."""

    status: int | None
    output: str
    errors: str
    seconds: float


def run(command, folder, environment, timeout):
    """Runs a program and its descendants for at most timeout seconds."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with _lock:
            if _ended:
                return Outcome(None, "", "", 0.0)
            process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
            _running.add(process)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        _kill(process)
        process.wait()
        with _lock:
            _running.discard(process)
        return Outcome(status, _text(output), _text(errors), time.monotonic() - started)


def end_all():
    """Kills all programs started by run, and makes run start no more."""
    global _ended
    with _lock:
        _ended = True
        for process in _running:
            _kill(process)


def _kill(process):
    """Kills a program's session, including descendants that outlived it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _text(file):
    file.seek(0)
    return file.read().decode(errors="backslashreplace")
