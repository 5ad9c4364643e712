"""A command line that misbehaves as its first argument says."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn


def _hang() -> int:
    time.sleep(60)
    return 0


def _grow() -> int:
    held = b"x" * (1_200 << 20)
    time.sleep(0.3)
    return 0 if held else 1


def _leave() -> int:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    return 0


def _crash() -> int:
    raise RuntimeError("a bug")


def _write_outside() -> int:
    Path("../neighbour/keep.txt").write_text("mine now")
    return 0


def _say(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code


BEHAVIOURS: dict[str, Callable[[], int]] = {
    "behave": lambda: _say("assay: replay.json: expected a replay file", 2),
    "hang": _hang,
    "grow": _grow,
    "leave": _leave,
    "crash": _crash,
    "write-outside": _write_outside,
    "end-with-4": lambda: _say("assay: an error of assay itself", 4),
    "say-nothing": lambda: 3,
    "talk-at-length": lambda: _say("assay: " + "x" * 5_000, 2),
    "speak-like-another": lambda: _say("Error: no such file", 2),
    "escape": lambda: _say("assay: \x1b[2J", 2),
}


def main(arguments: Sequence[str]) -> NoReturn:
    sys.exit(BEHAVIOURS[arguments[0]]())
