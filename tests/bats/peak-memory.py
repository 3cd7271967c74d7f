#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""peak-memory.py OUT COMMAND...: runs scope-bpf, and writes the peaks of the anonymous memory of collector and recorder
in KiB, as seen every 10 ms: `<collector> <recorder>`. Ends as the command does."""
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
from benchlib import anonymous_kib, children, is_program


def main():
    collector = recorder = 0
    process = subprocess.Popen(sys.argv[2:])
    while process.poll() is None:
        collector = max(collector, anonymous_kib(process.pid))
        for child in children(process.pid):
            if is_program(child, "scope-report"):
                recorder = max(recorder, anonymous_kib(child))
        time.sleep(0.01)
    Path(sys.argv[1]).write_text(f"{collector} {recorder}\n")
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


if __name__ == "__main__":
    sys.exit(main())
