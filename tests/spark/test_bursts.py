"""Rows of bursts: what an agent wrote of one becomes a ledger, and is judged as any other."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.fixtures.agents.test_loads import AGENTS, BURST, CONSUMER, PRODUCER, SPEC, opened, until
from tests.spark.on_disk.test_ingest import Writer
from tests.spark.on_disk.test_layout import INFO_OF_A_RUN

from assay_conformance.catalogue import load
from assay_conformance.ledger import clauses
from assay_conformance.ledger.declarations import BENCH, ClockDeclared, SubscriptionDeclared
from assay_conformance.ledger.info import Origin
from assay_conformance.model.agent import Ok
from assay_conformance.model.verdict import Verdict
from assay_reports.ledgers.ingest import Ingest
from assay_reports.ledgers.opening import open_ledger
from assay_reports.spark.reconcile import reconcile

CLIENT = "client-0"
OF_A_BURST = {clauses.LOST, clauses.INVENTED, clauses.CONTRACT, clauses.AS_SENT}


def told_by_the_bench(segments: Path, began_us: int) -> None:
    """The client's clock is that of this machine, and its subscription is to get everything."""
    bench = Writer(segments, BENCH)
    for name, offset_us in ((BENCH, 0), (CLIENT, began_us)):
        bench.to.declare(ClockDeclared(writer=name, offset_us=offset_us, error_us=10))
    bench.to.declare(SubscriptionDeclared(subscription="s", type="Shared", whole=True))
    bench.to.close()


async def burst(agent: str, segments: Path) -> None:
    """Two bursts of one stream, all of it received and acknowledged."""
    segment = str(segments / f"{CLIENT}.seg")
    async with opened(agent) as probe:
        consume = probe.tell("consume", consumer=CONSUMER, segment=segment)
        for first in (0, BURST):
            about = {"count": BURST, "payload": SPEC | {"number": first}, "segment": segment}
            await probe.succeed("burst", producer=PRODUCER, **about)
        await until(probe, CONSUMER, lambda told: told.get("acked", 0) == 2 * BURST)
        await probe.succeed("halt", handle=CONSUMER)
        assert isinstance(await probe.answer(consume), Ok)


@pytest.mark.parametrize("agent", AGENTS)
def test_what_bursts_wrote_becomes_a_ledger_that_passes(agent: str, spark: Any, tmp_path: Path) -> None:
    segments, ledger = tmp_path / "segments", tmp_path / "ledger"
    segments.mkdir()
    began_us, began_unix_ms = time.monotonic_ns() // 1000, time.time_ns() // 1_000_000
    told_by_the_bench(segments, began_us)
    asyncio.run(burst(agent, segments))
    told = Ingest(
        segments,
        ledger,
        msgspec.structs.replace(
            INFO_OF_A_RUN,
            origin=Origin.SEGMENTS,
            started_unix_ms=began_unix_ms,
            ended_unix_ms=began_unix_ms + 3_600_000,
        ),
    ).finish()
    assert told.notes == []
    assert (told.rows["attempt"], told.rows["outcome"]) == (2 * BURST, 2 * BURST)
    verdicts = {
        str(row.requirement): row.verdict for row in reconcile(spark, open_ledger(str(ledger)), load()).verdicts
    }
    assert {verdicts[one] for one in OF_A_BURST} == {Verdict.PASS}
    assert set(verdicts.values()) <= {Verdict.PASS, Verdict.UNTESTABLE}
