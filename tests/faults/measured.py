"""python -m tests.faults.measured ROWS WORDS...: `minbert WORDS...` in chunks of ROWS, then its peak memory in MB."""

import sys
from pathlib import Path

from minbert.cli import main
from minbert.data import chunks


def peak() -> float:
    """The most memory this process ever had."""
    # not getrusage, whose peak begins with that of the parent
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    chunks.CHUNK_ROWS = int(sys.argv.pop(1)) or chunks.CHUNK_ROWS
    try:
        main()
    finally:
        print(f"peak {peak():.1f} MB")
