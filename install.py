"""python install.py TITLE PIP-ARGUMENTS... -> pip install, with a line per large download and the elapsed time.

pip is silent for minutes with --quiet and while it unpacks, and prints hundreds of lines without. Only the standard
library is used: this runs before anything is installed.
"""

import re
import subprocess
import sys
import threading
import time

# seconds between two signs of life
INTERVAL = 5.0
# a download of this many MB is worth a line
LARGE = 10.0


def main(title: str, arguments: list[str]) -> int:
    started = time.monotonic()
    print(f"{title} ...", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    pip = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ended = threading.Event()
    state = {"doing": "starting"}
    clock = threading.Thread(target=tick, args=(ended, started, state))
    clock.start()
    lines = []
    assert pip.stdout is not None
    for line in pip.stdout:
        lines.append(line)
        report(line, state)
    code = pip.wait()
    ended.set()
    clock.join()
    if code:
        print("".join(lines[-40:]), file=sys.stderr)
    print(f"  {'failed after' if code else 'done in'} {time.monotonic() - started:.0f} s", flush=True)
    return code


def report(line: str, state: dict[str, str]) -> None:
    """Note what pip is doing, and show large downloads."""
    size = re.search(r"\(([\d.]+) (MB|GB)\)", line)
    words = line.split()
    if size and words[0] in ("Downloading", "Using") and (size[2] == "GB" or float(size[1]) >= LARGE):
        print(f"  {package_of(words[-3])}, {size[1]} {size[2]}", flush=True)
    if line.startswith("Installing collected packages"):
        state["doing"] = f"unpacking {line.count(',') + 1} packages"
    elif words and words[0] in ("Collecting", "Downloading", "Obtaining"):
        state["doing"] = f"fetching {package_of(words[1])}"


def package_of(file: str) -> str:
    """torch, of https://.../torch-2.13.0-cp311-cp311-linux_x86_64.whl or torch>=2.6"""
    return re.split(r"-\d|[<>=~!;\[]", file.rpartition("/")[2])[0] or "minbert"


def tick(ended: threading.Event, started: float, state: dict[str, str]) -> None:
    while not ended.wait(INTERVAL):
        print(f"  {time.monotonic() - started:3.0f} s: {state['doing']}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
