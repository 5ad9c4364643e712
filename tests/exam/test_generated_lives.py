"""What every area draws, an honest client lives through: a few lives in CI, many at night.

The profile is Hypothesis's (`HYPOTHESIS_PROFILE`); a night has a seed of its own, which is told (`ASSAY_NIGHT`). Each
run, in CI as well, also has some that no run had before: their seed is printed at its start (`ASSAY_FRESH`). A life
that is blamed is reduced as `assay explore` reduces it, and left as a replay file: that is the record, not the seed.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.exam.failures import Failure, failures_of
from tests.profiles import PROFILE

from assay_conformance.machines import areas, plan
from assay_conformance.machines.areas import Area
from assay_conformance.machines.causes import Breach as Broken
from assay_conformance.model.case import Case
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.schema import CURRENT, FileKind
from assay_fixtures.brokers.embedded import EmbeddedSite
from assay_fixtures.reference.probe import FACTS, ReferenceTrial
from assay_reports.replay import Breach, Replay, read_replay, render

LIVES = {"ci": 10, "nightly": 1_000}
SEED = int(os.environ.get("ASSAY_NIGHT", "17"))


FRESH_LIVES = {"ci": 75, "nightly": 750}
"""Of each of four rounds: areas take turns."""
FRESH_SEED = int(os.environ["ASSAY_FRESH"])
LATENCY_MS = 8


@pytest.mark.parametrize("turn", range(4))
def test_an_honest_client_lives_through_what_nobody_has_drawn_before(turn: int, tmp_path: Path) -> None:
    """Every other round has latency, of frames and of the agent's words."""
    seed = FRESH_SEED + turn
    drawn = plan.draw(areas.lives(areas.by_turns(seed)), FRESH_LIVES[PROFILE], seed)
    blamed = _blamed(drawn, ReferenceTrial(seed=seed, latency_ms=seed % 2 * LATENCY_MS), tmp_path)
    again = f"ASSAY_FRESH={FRESH_SEED} pytest {__file__} -k nobody_has_drawn"
    assert blamed == [], f"check, broker or client is wrong. These lives: {again}; files for assay replay: {tmp_path}"


@pytest.mark.parametrize("area", Area)
def test_an_honest_client_lives_through_what_an_area_draws(area: Area, tmp_path: Path) -> None:
    drawn = plan.draw(areas.lives(area), LIVES[PROFILE], SEED)
    assert _blamed(drawn, ReferenceTrial(), tmp_path) == [], f"seed {SEED}; replay files: {tmp_path}"


def _blamed(drawn: list[Case], trial: ReferenceTrial, folder: Path) -> list[list[Broken]]:
    """What broke in each life that was blamed; its record, for `assay replay`, is left in the folder."""
    failures = asyncio.run(failures_of(drawn, trial.probe, parallel=2))
    for number, failure in enumerate(failures):
        (folder / f"{number}.json").write_bytes(render(record(failure, trial)))
    return [sorted(failure.breaches) for failure in failures]


def record(failure: Failure, trial: ReferenceTrial) -> Replay:
    catalogue, broker = trial.pack.catalogue, EmbeddedSite.info
    stated = [(catalogue.requirements[RequirementId(name)], code) for name, code in sorted(failure.breaches)]
    showed = f"{failure.confirmed} of {failure.tries} fresh runs"
    return Replay(
        schema=str(CURRENT[FileKind.REPLAY]),
        file=FileKind.REPLAY,
        suite=broker.version,
        catalogue=catalogue.revision,
        agent=FACTS.agent,
        client=FACTS.client,
        version=FACTS.client_version,
        broker=f"{broker.kind} {broker.name} {broker.version}",
        case=failure.reduced,
        breaches=tuple(
            Breach(requirement=broken.id, clause=broken.clause, code=code, sentence=showed) for broken, code in stated
        ),
    )


def test_the_record_of_a_blamed_life_is_a_replay_file() -> None:
    (case,) = plan.draw(areas.lives(Area.RESEND), 1, SEED)
    failure = Failure(case, case, frozenset({("resend.keeps-queue-order", "reordered")}), confirmed=3, tries=3)
    read = read_replay(render(record(failure, ReferenceTrial())), "0.json")
    assert (read.case, read.agent, [breach.code for breach in read.breaches]) == (case, "reference", ["reordered"])
