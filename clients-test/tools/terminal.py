"""A pseudo terminal for the interactive use of a program."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from report import expect


class Terminal:
    """A program in a pseudo terminal of its own, 200 columns wide."""

    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
            os.environ.update(TERM="xterm", REDISCLI_HISTFILE="/dev/null")
            os.execvp(command[0], command)
        self.seen = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def wait(self):
        """Waits for the program to exit, and returns its exit status."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT).si_status

    def type(self, text):
        """Types text. await_ then sees only the output after it."""
        self.seen = ""
        os.write(self.fd, text.encode())

    def await_(self, pattern):
        """Reads output for at most 10 s until it matches pattern, and returns the match."""
        deadline = time.monotonic() + 10
        while not (match := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            try:
                some = os.read(self.fd, 65536) if ready else b""
            except OSError:  # the program has exited
                some = b""
            if not some:
                expect(self.seen, pattern)
            self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", some.decode())
        return match
