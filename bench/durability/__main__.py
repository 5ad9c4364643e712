"""Kill processes of a real cluster at drawn moments, until enough kills count, and say what was lost or reordered.

    python -m bench.durability --kind both --kills 20 --seed 1 [--client reference] [--write-quorum 3] [--runs FOLDER]

`assay tools install pulsar` comes first. A kill counts when its receipt shows that at least 100 SENDs were under way,
to the broker that died where one did. Every few Cases are a run on a cluster of its own, kept in FOLDER; what is there
already counts, so that what was interrupted goes on where it stopped. The table is of everything in FOLDER: only that
is shown with --kills 0. A failure ends with status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.durability.killing import Durability
from bench.durability.result import Row, remarks, table

from assay_conformance.model.errors import AssayError
from assay_conformance.pulsar.cases.ordering.durability import KINDS
from assay_fixtures.verified import exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, action="append", help="who dies; several may be said  [default: all]")
    parser.add_argument("--kills", type=int, default=20, help="so many are to count, of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--client", default="reference")
    parser.add_argument("--write-quorum", type=int, default=2, choices=(2, 3))
    parser.add_argument("--runs", type=Path, default=Path("runs/durability"))
    said = parser.parse_args(arguments)
    durability = Durability(said.runs)
    try:
        for kind in said.kind or KINDS:
            durability.kill(Row(said.client, kind, said.write_quorum), said.seed, said.kills)
    except AssayError as error:
        print(f"bench.durability: {error}; said again, it goes on from here", file=sys.stderr)
        return 3
    tallies = {row: tally for row, tally in durability.tallies.items() if tally.results or tally.cut_short}
    print("\n".join((*table(tallies), "", *remarks(tallies))))
    return exit_code(len(tallies), sum(bool(tally.failed) for tally in tallies.values()), "kills")


if __name__ == "__main__":
    sys.exit(main())
