"""What every area draws, an honest client lives through: a few lives in CI, many at night.

The profile is Hypothesis's (`HYPOTHESIS_PROFILE`); a night has a seed of its own, which is told (`ASSAY_NIGHT`). A life
that is blamed is reduced as `assay explore` reduces it, and left as a file beside the test's other ones: that file is
the record, not the seed.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from assay_conformance.machines import areas, plan
from assay_conformance.machines.areas import Area
from assay_fixtures.reference.probe import ReferenceTrial
from assay_fixtures.runner.explore import explore

LIVES = {"ci": 10, "nightly": 1_000}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
SEED = int(os.environ.get("ASSAY_NIGHT", "17"))


@pytest.mark.parametrize("area", Area)
def test_an_honest_client_lives_through_what_an_area_draws(area: Area, tmp_path: Path) -> None:
    drawn = plan.draw(areas.lives(area), LIVES[PROFILE], SEED)
    failures = asyncio.run(explore(drawn, ReferenceTrial().probe, parallel=2))
    for number, failure in enumerate(failures):
        (tmp_path / f"{number}.json").write_bytes(msgspec.json.encode(failure.reduced, order="deterministic"))
    assert [sorted(failure.breaches) for failure in failures] == [], f"seed {SEED}; reduced Cases are in {tmp_path}"
