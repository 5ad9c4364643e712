"""What the pytest plugin costs a session that does not use it: start-up with it and without it, turn about.

    python bench/plugin_start.py [--rounds N]

Processor time, so that what else the machine does does not count. Each figure is the median of the rounds, with the
range. Goal: less than 30 ms more with the plugin.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

GOAL_MS = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        pairs = [(_session_ms(folder), _session_ms(folder, "-p", "no:assay")) for _ in range(rounds + 1)][1:]
    for name, times in zip(("with", "without"), zip(*pairs, strict=True), strict=True):
        print(f"{name:<8}{statistics.median(times):8.1f} ms  ({min(times):.1f} to {max(times):.1f})")
    more = statistics.median(with_it - without for with_it, without in pairs)
    print(f"{'more':<8}{more:8.1f} ms  (goal: below {GOAL_MS:g})")


def _session_ms(folder: str, *options: str) -> float:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, folder]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


if __name__ == "__main__":
    main()
