"""One seed, one plan: byte for byte, on every Python that is supported and on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

CONFORMANCE = Path(__file__).parents[2] / "conformance"
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
DRAWN_WITH = [f"--with={name}=={version(name)}" for name in ("crc32c", "cramjam", "hypothesis", "msgspec", "protobuf")]

_ENVIRONMENT = {
    "PYTHONPATH": str(CONFORMANCE),
    "UV_PYTHON_DOWNLOADS": "never",
    # Where versions are told apart by shims, all of them are to be found.
    "PYENV_VERSION": ":".join(sorted(path.name for path in Path("~/.pyenv/versions").expanduser().glob("3.1[1-9]*"))),
}

DIGEST = """
import hashlib, msgspec
from assay_conformance.cases import all_cases
from assay_conformance.cases.permutations import spread
from assay_conformance.machines import areas, harmed, plan
from assay_conformance.model.case import Tier
written = all_cases()
fast = [case for case in written if case.tier is Tier.FAST]
harm = plan.draw(harmed.harmed(fast), 12, 3)
lives = [plan.draw(areas.lives(area), 12, 3) for area in areas.Area]
print(hashlib.sha256(msgspec.json.encode([written, spread(fast), harm, lives])).hexdigest())
"""
"""Cases as they are written, the permutations that are run of them, what is drawn of them and what is drawn at all."""


@cache
def digest(python: str) -> str | None:
    """Of all that this Python plans; None where there is none of it."""
    uv = [sys.executable, "-m", "uv", "run", "--no-project", f"--python={python}", *DRAWN_WITH]
    answer = subprocess.run(
        [*uv, "python", "-c", DIGEST],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **_ENVIRONMENT},
    )
    if answer.returncode and "No interpreter found" in answer.stderr:
        return None
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


@pytest.mark.parametrize("python", SUPPORTED[1:])
def test_every_python_has_the_same_plan(python: str) -> None:
    drawn = digest(python)
    if drawn is None:
        pytest.skip(f"there is no Python {python} on this machine")
    assert drawn == digest(SUPPORTED[0])
