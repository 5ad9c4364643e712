"""What was acknowledged is there, once and in its order, whatever process of a real cluster dies meanwhile.

The Cases are those of `cases/durability.py`, by seed, and the checks are those of every run. A kill counts only when
its receipt shows that so many SENDs were under way.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

import pytest
import uvloop

from assay_conformance.cases.durability import KILLS, KINDS, LOADS, Kind, killed
from assay_conformance.model.case import Case
from assay_conformance.model.event import Closed, Fired, Frame
from assay_conformance.model.outside import Means
from assay_conformance.model.verdict import Judgement, Verdict
from assay_fixtures.brokers.choice import Wishes, site_of
from assay_fixtures.certification import Options, certify, prepare
from assay_fixtures.runner.folder import RunFolder, StoredRun
from assay_fixtures.runner.selection import Selection

UNDER_WAY = 100
AT_ONCE_NS = 2_000_000_000
"""So soon a connection ends whose broker is killed, on a machine that does other things."""
KILLS_OF_EACH_KIND = 20
SPARE_CASES = 3
"""Some kills come when fewer SENDs are under way, or miss: who has a topic after a kill is likely, not certain."""

MEANT = ("ordering.", "topics.moves", "dedup.", "ack.survives", "subscription.resumes", "delayed.", "chunking.survives")
"""What the Cases are about. The client's own punctuality is judged elsewhere, on a machine with less to do."""


ACKS_OF_A_CLOSE = "ack.survives-load"
CLOSED_MEANWHILE = "CursorAlreadyClosedException"
"""Pulsar 4.0.8, as its broker says it: a topic is unloaded while the first ledger of a cursor is being created, the
acknowledgments that wait for it fail, and the cursor is written as it was before them (ManagedCursorImpl: asyncClose
writes lastMarkDeleteEntry, and those in pendingMarkDeleteOps are not in it). Seen where bookies are slow."""


def is_known(judgement: Judgement, run: Path) -> bool:
    logs = run.glob("broker-*.log")
    return judgement.requirement == ACKS_OF_A_CLOSE and any(CLOSED_MEANWHILE in log.read_text() for log in logs)


def cases_of(kind: str) -> list[Case]:
    """Each load in turn, until there are enough kills."""
    count = -(-KILLS_OF_EACH_KIND // KILLS) + SPARE_CASES
    return [killed(KINDS[kind], seed, load) for seed, load in enumerate(islice(cycle(LOADS.values()), count))]


def counted(stored: StoredRun, case: Case, kind: Kind) -> int:
    """The kills of a Case that count: enough SENDs were under way, and the broker that died is the one they went to."""
    carrying: int | None = None
    closed: dict[int, int] = {}
    kills: dict[tuple[int, ...], list[tuple[Fired, int | None]]] = {}
    for event in stored.history(case.id, 1):
        if isinstance(event, Frame) and event.command == "SEND":
            carrying = event.conn
        elif isinstance(event, Closed):
            closed[event.conn] = event.t_ns
        elif isinstance(event, Fired) and event.action == "kill":
            kills.setdefault(event.frames, []).append((event, carrying))

    def counts(deaths: list[tuple[Fired, int | None]]) -> bool:
        under_way = max(int(death.facts["in_flight"]) for death, _ in deaths) >= UNDER_WAY
        hit = any(conn is not None and abs(closed.get(conn, 0) - death.t_ns) < AT_ONCE_NS for death, conn in deaths)
        return under_way and (hit or not kind.loads)

    return sum(map(counts, kills.values()))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("client", ["reference"])
def test_kills_lose_and_reorder_nothing_that_was_acknowledged(kind: str, client: str, tmp_path: Path) -> None:
    cases = cases_of(kind)
    site = site_of("cluster", Wishes())
    plan = prepare(client, site=site, means=frozenset({Means.FRAMES, Means.PROCESSES}))
    checks = {name: check for name, check in plan.pack.checks.items() if name.startswith(MEANT)}
    plan = replace(plan, selection=Selection(run=tuple(cases)), pack=replace(plan.pack, checks=checks))
    folder = RunFolder.create(tmp_path / "run")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(certify(plan, folder, Options()))
    wrong = [j for j in result.judgements if j.verdict in (Verdict.FAIL, Verdict.INVALID, Verdict.HARNESS_ERROR)]
    unknown = [judgement for judgement in wrong if not is_known(judgement, folder.path)]
    assert not [(judgement.case, judgement.requirement, judgement.reason) for judgement in unknown]
    kills = [counted(StoredRun(folder.path), case, KINDS[kind]) for case in cases]
    assert sum(kills) >= KILLS_OF_EACH_KIND, kills
