"""Certifying each version once: what lies in the folder is not run again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from assay_conformance.model.errors import UnavailableError

AGENT = "pulsar-python"


def certified(version: str, folder: Path, clauses: Iterable[str] = ()) -> list[Path]:
    """Return the runs of that version, of every Case or of those of some clauses.

    Raise UnavailableError with the run's output when it has no verdicts.
    """
    if not (found := _found(folder / version)):
        selected = [word for clause in sorted(clauses) for word in ("--select", clause)]
        command = [sys.executable, "-c", "from assay_fixtures.cli import main; main()", "certify"]
        print(f"certifying {AGENT}@{version}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [*command, f"{AGENT}@{version}", "--run-dir", str(folder / version), *selected],
            capture_output=True,
            text=True,
            check=False,
        )
        found = _found(folder / version)
        if not found:
            raise UnavailableError(f"{AGENT}@{version}: no run (exit {done.returncode}): {done.stderr.strip()}")
    return found


def _found(folder: Path) -> list[Path]:
    """Return the runs that came to their end."""
    return [path.parent for path in sorted(folder.glob("*/verdicts.json"))]
