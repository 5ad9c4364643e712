"""One seed, one plan: byte for byte, on every supported Python of this machine, whatever else is imported?

    python -m bench.same_plan

What is compared are the Cases as they are written, the permutations that are run of them, what is drawn of them, and
what every area draws, by lists and by machines. They are planned by the Python this runs on, and then by each one that
is found on the PATH or among pyenv's versions, in an environment that uv makes for it with the same versions of
libraries. There a module full of constants is imported first, which Hypothesis would mix into what it draws. The status
is 1 where plans differ.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from assay_conformance.model.errors import UnavailableError
from assay_fixtures.cache import cache_folder
from assay_fixtures.interpreters import interpreter_of
from assay_fixtures.python_packages import make_environment
from assay_fixtures.verified import exit_code

CONFORMANCE: Final = Path(__file__).parents[1] / "conformance"
SUPPORTED: Final = ("3.11", "3.12", "3.13", "3.14")
OURS: Final = f"{sys.version_info.major}.{sys.version_info.minor}"

LIBRARIES: Final = ("hypothesis", "msgspec", "crc32c", "cramjam", "protobuf")
"""What the rules import. Of Hypothesis another version may draw something else; so the versions are ours."""

PLAN: Final = """
import hashlib, msgspec
from hypothesis import strategies as st
from assay_conformance.pulsar.cases import all_cases
from assay_conformance.cases.permutations import spread
from assay_conformance.machines import areas, cases_with_faults, plan
from assay_conformance.model.case import Tier
written = all_cases()
fast = [case for case in written if case.tier is Tier.FAST]
harm = plan.draw(cases_with_faults.harmed(fast), 12, 3)
lives = [plan.draw(areas.lives(area), 12, 3) for area in areas.Area]
machines = [plan.draw_lives(area, 6, 3) for area in areas.Area]
numbers = st.integers(0, 99_999).map(lambda number: msgspec.structs.replace(written[0], title=str(number)))
wide = plan.draw(numbers, 200, 3)
print(hashlib.sha256(msgspec.json.encode([written, spread(fast), harm, lives, machines, wide])).hexdigest())
"""
"""Of constants Hypothesis would take what lies in a strategy's range, and beyond 100: lives have no such numbers now,
and the last strategy has."""

DECOY: Final = "NAMES = ['never-drawn', 'nor-this']\nNUMBERS = [3, -17, 4711, 5813, 77_777]\n"
BESIDE: Final = "import decoy_constants, xml.dom, json.tool, http.server\n"


@cache
def ours() -> str:
    """Return the digest of all that this Python plans, with nothing else imported."""
    return _planned(Path(sys.executable), PLAN, CONFORMANCE)


def theirs(python: str) -> str:
    """Return the digest of all that another Python plans, beside a decoy.

    Raise UnavailableError where that Python, or a library for it, cannot be had.
    """
    with TemporaryDirectory() as folder:
        (Path(folder) / "decoy_constants.py").write_text(DECOY, "utf-8")
        interpreter = Path(sys.executable) if python == OURS else _environment(python, Path(folder) / "environment")
        return _planned(interpreter, BESIDE + PLAN, CONFORMANCE, Path(folder))


def _environment(python: str, folder: Path) -> Path:
    interpreter = interpreter_of([f"cp{python.replace('.', '')}"])
    if interpreter is None:
        raise UnavailableError(f"there is no Python {python} on this machine")
    first, *others = (f"{name}=={version(name)}" for name in LIBRARIES)
    make_environment(folder, first, cache_folder() / "uv", str(interpreter), beside=others)
    return folder / "bin" / "python"


def _planned(python: Path, script: str, *path: Path) -> str:
    # No cache of compiled modules: a checkout is for its own Python alone.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([python, "-c", script], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{python} has no plan: {done.stderr}")
    return done.stdout.strip()


def main() -> int:
    print(f"{OURS}  {ours()}", flush=True)
    asked = others = 0
    for python in SUPPORTED:
        try:
            planned = theirs(python)
        except UnavailableError as error:
            print(f"{python}  not asked: {error}", flush=True)
            continue
        asked += 1
        others += planned != ours()
        print(f"{python}  {planned}  {'the same' if planned == ours() else 'ANOTHER PLAN'}", flush=True)
    return exit_code(asked, others, "Pythons to ask")


if __name__ == "__main__":
    sys.exit(main())
