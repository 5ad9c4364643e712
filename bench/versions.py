"""Which versions of a client deviate where: `python bench/versions.py pulsar-python 3.4.0 3.5.0 ... [--rounds 3]`.

Certifies each version so many times and prints a Markdown table: one row a deviation (requirement, Case, finding code),
one column a version, in it how many of the rounds showed it. Expectations play no part: what is listed counts too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

Deviation = tuple[str, str, str]
"""Requirement, Case, finding code; the code is `untestable` where the precondition was not reached."""

COUNTS_AGAINST = {"fail", "warn"}


def certified(agent: str, version: str, folder: Path, options: list[str]) -> set[Deviation]:
    """Return what one run of that version broke. Raise SystemExit with the run's output when there was no run."""
    command = [sys.executable, "-c", "from assay_fixtures.cli import main; main()", "certify", f"{agent}@{version}"]
    done = subprocess.run([*command, "--run-dir", str(folder), *options], capture_output=True, text=True, check=False)
    found = list(folder.glob("*/verdicts.json"))
    if not found:
        raise SystemExit(f"{agent}@{version}: no run (exit {done.returncode}): {done.stderr.strip()}")
    return set(deviations(json.loads(found[0].read_text("utf-8"))))


def deviations(verdicts: dict[str, object]) -> Iterator[Deviation]:
    cells = verdicts["cells"]
    assert isinstance(cells, list)
    for cell in cells:
        for code in {finding["code"] for finding in cell.get("findings", ()) if cell["verdict"] in COUNTS_AGAINST}:
            yield cell["requirement"], cell["case"], code
        if cell["verdict"] == "untestable":
            yield cell["requirement"], cell["case"], "untestable"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent")
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--select", action="append", default=[])
    options = parser.parse_args()
    selected = [word for one in options.select for word in ("--select", one)]
    seen: Counter[tuple[Deviation, str]] = Counter()
    for version in options.versions:
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                seen.update((one, version) for one in certified(options.agent, version, Path(folder), selected))
        print(f"{version}: done", file=sys.stderr)
    print("| requirement | Case | code | " + " | ".join(options.versions) + " |")
    print("|---|---|---|" + "---|" * len(options.versions))
    for deviation in sorted({one for one, _ in seen}):
        counts = (seen[deviation, version] for version in options.versions)
        told = (f"{count}/{options.rounds}" if count else "" for count in counts)
        print("| " + " | ".join((f"`{deviation[0]}`", f"`{deviation[1]}`", f"`{deviation[2]}`", *told)) + " |")


if __name__ == "__main__":
    main()
