"""A run that makes things without end, for a test to kill: `python runner.py LEDGERS PLACE SEED KIND...`."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from assay_faults.cleanup_journal import CleanupJournal, Entry, Kind, environment_of


def process(ledger: CleanupJournal, place: Path) -> Entry:  # noqa: ARG001
    entry = ledger.creating(Kind.PROCESS, "sleeper")
    # A shell that starts another program: its child has to be found as well.
    subprocess.Popen(["/bin/sh", "-c", "sleep 600 & wait"], env=_marked(entry))
    return entry


def directory(ledger: CleanupJournal, place: Path) -> Entry:
    entry = ledger.creating(Kind.DIRECTORY, str(place / "{id}"))
    Path(entry.name).mkdir()
    (Path(entry.name) / "file").write_text("something")
    return entry


def mount(ledger: CleanupJournal, place: Path) -> Entry:
    parent = directory(ledger, place)
    entry = ledger.creating(Kind.MOUNT, f"{parent.name}/{{id}}")
    Path(entry.name).mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "x", entry.name], env=_marked(entry), check=True)
    return entry


def namespace(ledger: CleanupJournal, place: Path) -> Entry:  # noqa: ARG001
    entry = ledger.creating(Kind.NAMESPACE)
    subprocess.run(["ip", "netns", "add", entry.name], env=_marked(entry), check=True)
    return entry


def _marked(entry: Entry) -> dict[str, str]:
    return {**os.environ, **environment_of(entry)}


MAKERS: dict[str, Callable[[CleanupJournal, Path], Entry]] = {
    Kind.PROCESS: process,
    Kind.DIRECTORY: directory,
    Kind.MOUNT: mount,
    Kind.NAMESPACE: namespace,
}


def main() -> None:
    ledgers, place, seed, *kinds = sys.argv[1:]
    draw = random.Random(int(seed))
    with CleanupJournal.begin(Path(ledgers)) as ledger:
        while True:
            MAKERS[draw.choice(kinds)](ledger, Path(place))


if __name__ == "__main__":
    main()
