"""A machine that is too busy makes rates and delays inconclusive on a real broker, and never a finding."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from assay_conformance.model.event import Load
from assay_conformance.model.verdict import Verdict
from assay_fixtures.brokers.choice import BrokerOptions, site_of
from assay_fixtures.certification import Options, certify, prepare
from assay_fixtures.runner.folder import RunFolder, StoredRun

LOOPS_A_CORE = 2
SHOWN = {Verdict.FAIL, Verdict.WARN}


def _spin() -> None:
    while True:
        pass


@pytest.fixture
def busy() -> Iterator[None]:
    """Twice as many loops as there are cores, for as long as the test takes."""
    spawned = multiprocessing.get_context("spawn")
    loops = [spawned.Process(target=_spin, daemon=True) for _ in range(LOOPS_A_CORE * (os.cpu_count() or 1))]
    for loop in loops:
        loop.start()
    yield
    for loop in loops:
        loop.kill()
        loop.join()


@pytest.mark.long
@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("chapter", ["throttling", "delayed"])
def test_a_busy_machine_accuses_nobody(tmp_path: Path, chapter: str) -> None:
    plan = prepare("reference", site=site_of("jvm", BrokerOptions()), wanted=[f"chapter:{chapter}"])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(certify(plan, RunFolder.create(tmp_path / "run"), Options()))
    assert [judgement.reason for judgement in result.judgements if judgement.verdict in SHOWN] == []
    stored = StoredRun(tmp_path / "run")
    loads = [e for case in stored.plan for e in stored.history(case, 1) if isinstance(e, Load)]
    assert any(load.broker_wait_ns for load in loads)
