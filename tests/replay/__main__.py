"""`python -m tests.replay DIR`: replay every recording below DIR and say what is equal and what is not."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.replay import read_folder, replay

from assay_fixtures.verified import exit_code


def main(folder: Path) -> int:
    """1 when a recording is answered differently, 3 when there is none."""
    equal = different = 0
    for recording in read_folder(folder):
        differences = replay(recording)
        equal += not differences
        different += bool(differences)
        print(f"{'different' if differences else 'equal':<11} {recording.name}")
        for difference in differences:
            print(f"            {difference}")
    print(f"{equal} equal, {different} different")
    return exit_code(equal + different, different, f"recordings in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.replay DIR")
    sys.exit(main(Path(sys.argv[1])))
