"""The checks of replies, and the lines for the runner."""

import logging
import os


class Between:
    """Any integer from low to high."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def __eq__(self, other):
        return type(other) is int and self.low <= other <= self.high

    def __repr__(self):
        return f"{self.low}..{self.high}"


class OneOf:
    """Any of several values."""

    def __init__(self, *values):
        self.values = values

    def __eq__(self, other):
        return other in self.values

    def __repr__(self):
        return " or ".join(map(repr, self.values))


class Mismatch(Exception):
    """A reply differs from the expected one."""


def expect(got, want):
    if got != want:
        raise Mismatch(f"got {got!r}, want {want!r}")


class Warnings(logging.Handler):
    """Collects log messages at the level of a warning or above."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


WARNINGS = Warnings()
logging.getLogger().addHandler(WARNINGS)


def address(name):
    """Returns the host and port in an environment variable."""
    host, port = os.environ[name].split(":")
    return {"host": host, "port": int(port)}


def run(cases, *given):
    """Runs the cases, prints the line of each, and returns the exit status."""
    status = 0
    for name, case in cases.items():
        if is_asked(name):
            try:
                print_case(name, None, case(*given))
            except Exception as problem:
                status = 1
                print_case(name, problem)
    return status


def is_asked(case):
    """Reports whether there is a server for the case."""
    return case != "cluster" or "LIMITSRV_CLUSTER_ADDR" in os.environ


def print_case(case, problem, note=None):
    """Prints the line of a case; problem is message it raised, or None, and note its result, if it has one."""
    if problem is None:
        print("ok", case if note is None else f"{case}: {note}", flush=True)
    else:
        message = str(problem) if isinstance(problem, Mismatch) else f"got {problem!r}, want no exception"
        print("FAIL", f"{case}:", message.replace("\n", " "), flush=True)
