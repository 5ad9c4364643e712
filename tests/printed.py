"""Running a command that a page prints, as a reader would in a shell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 180
"""For a machine with other work: on an idle one each of them takes less than a minute."""


def ended(command: str, folder: Path, timeout_s: float = TIMEOUT_S) -> tuple[int | None, str]:
    """Exit code and output of a command that is run in this folder; no code for one that does not end in time. What
    serves until it is interrupted is interrupted after its first line."""
    serves = command.startswith("assay broker")
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=folder,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline() if serves else ""
        if serves:
            process.send_signal(signal.SIGINT)
        try:
            rest, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            return None, f"no end within {timeout_s:g} s"
    return process.returncode, first + rest


def read_by_its_help(arguments: list[str]) -> None:
    """A program of this checkout knows the options that a page gives it: `arguments` are `-m NAME` and what follows."""
    command = [sys.executable, *arguments[:2], "--help"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    assert [word for word in arguments if word.startswith("--") and word not in told] == []
