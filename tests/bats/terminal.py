#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""terminal.py STEP... -- COMMAND...: runs COMMAND on a terminal of its own, as its foreground job, and plays a script.

Steps:   expect:TEXT    until the terminal has shown TEXT, after what was expected before (20 s)
         type:TEXT      typed; \\x03 is Ctrl-C, \\x1a Ctrl-Z, \\n the return key
         sleep:SECONDS
         hangup         the terminal goes away
Prints all that the terminal showed, then `status N`; exit status 1 when something expected did not come.
"""
import os
import pty
import select
import signal
import sys
import time

PATIENCE = 20


class Terminal:
    def __init__(self, command):
        self.seen, self.at = b"", 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execvp(command[0], command)

    def read(self, seconds):
        """False when the terminal's other side is closed."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)

    def expect(self, text):
        wanted, end = text.encode(), time.monotonic() + PATIENCE
        while self.seen.find(wanted, self.at) < 0:
            if time.monotonic() > end or not self.read(0.1):
                raise SystemExit(self.show(f"did not come: {text}"))
        self.at = self.seen.find(wanted, self.at) + len(wanted)

    def type(self, text):
        os.write(self.fd, text.encode().decode("unicode_escape").encode("latin-1"))

    def sleep(self, seconds):
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end and self.read(0.05):
            pass

    def hangup(self):
        os.close(self.fd)
        self.fd = None

    def wait(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.fd is not None:
                self.read(0.05)
            else:
                time.sleep(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                if self.fd is not None:
                    self.sleep(0.1)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        raise SystemExit(self.show("did not end"))

    def show(self, complaint=None):
        sys.stdout.write(self.seen.decode("utf-8", "replace").replace("\r\n", "\n"))
        if complaint:
            print(f"\nterminal.py: {complaint}")
        return 1


def main():
    split = sys.argv.index("--")
    terminal = Terminal(sys.argv[split + 1:])
    for step in sys.argv[1:split]:
        name, _, value = step.partition(":")
        method = getattr(terminal, name)
        method(value) if value else method()
    status = terminal.wait()
    terminal.show()
    print(f"status {status}")


main()
