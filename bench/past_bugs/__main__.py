"""Certify released versions that had bugs, and those without, and say which bugs were noticed.

    python -m bench.past_bugs [--row CPP-01 ...] [--runs FOLDER] [--short] [--write]

Each version is certified once; its run is kept in FOLDER and serves every bug, so that what was interrupted goes on
where it stopped. Further runs of a version that are put there count together with the first. `--short` leaves out Cases
of clauses that no bug of the table is about. `--write` keeps what the page needs of the runs, and writes
docs/past-bugs.md. A bug that a script is known to show, and that was not noticed or is noisy, ends with status 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.past_bugs.certifying import certified
from bench.past_bugs.evidence import evidence, keep, kept
from bench.past_bugs.judging import Detection, judged
from bench.past_bugs.page import PAGE, counts, page
from bench.past_bugs.pairs import PAIRS, clauses_of

from assay_conformance.model.errors import AssayError
from assay_fixtures.verified import exit_code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", choices=PAIRS, action="append", help="only this bug; several may be said")
    parser.add_argument("--runs", type=Path, default=Path("runs/past_bugs"))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--write", action="store_true")
    said = parser.parse_args()
    rows = {row: PAIRS[row] for row in said.row or PAIRS}
    clauses = {requirement for pair in PAIRS.values() for requirement in pair.requirements}
    named = clauses if said.short else set()
    versions = sorted({version for pair in rows.values() for version in (pair.affected, pair.fixed)})
    try:
        found = {version: evidence(certified(version, said.runs, named), clauses_of(version)) for version in versions}
    except AssayError as error:
        print(f"bench.past_bugs: {error}; said again, it goes on from here", file=sys.stderr)
        return 3
    results = {row: judged(pair, found[pair.affected], found[pair.fixed]) for row, pair in rows.items()}
    for row, result in results.items():
        by = ", ".join(sorted({f"{sign.requirement} in {sign.case}: {','.join(sign.codes)}" for sign in result.signs}))
        print(f"{row} {result.detection}: {rows[row].bug}{f' ({by})' if by else ''}")
    for line in counts({row: result for row, result in results.items() if rows[row].reproduced}):
        print(line.replace("*", ""))
    if said.write:
        for one in found.values():
            keep(one)
        PAGE.write_text(page(kept()), "utf-8")
    known = [result.detection for row, result in results.items() if rows[row].reproduced]
    return exit_code(len(known), sum(one is not Detection.DETECTED for one in known), "rows that are reproduced")


if __name__ == "__main__":
    sys.exit(main())
