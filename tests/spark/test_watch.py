"""A ledger that is watched as it grows: what breaks is said once, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.spark.histories import info as a_ledgers
from tests.spark.ledgers import add

from assay_conformance.ledger import clauses
from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.ledger.rows import Attempt, Consumer, Delivery, Outcome, Stream, Subscription, Topic, Writer
from assay_conformance.ledger.tables import ATTEMPT, DELIVERY, NONE, OUTCOME
from assay_reports.ledgers.layout import create, write_info, write_smalls
from assay_reports.ledgers.opening import open_ledger
from assay_reports.spark.alarms import Alarm
from assay_reports.spark.watch import CONF, Watch

SMALL: dict[str, list[tuple[Any, ...]]] = {
    "stream": [Stream(0, "p", 0)],
    "topic": [Topic(0, "t")],
    "subscription": [Subscription(0, "s")],
    "consumer": [Consumer(0, 0, "c", 1)],
    "writer": [Writer(0, "sender"), Writer(1, "receiver")],
}
DEADLINE_S = 240


@pytest.fixture
def growing(tmp_path: Path) -> tuple[Path, LedgerInfo]:
    """An empty ledger of a run that began a minute ago, and does not wait long for what is late."""
    began_ms = time.time_ns() // 1_000_000 - 60_000
    info = msgspec.structs.replace(a_ledgers(), started_unix_ms=began_ms, ended_unix_ms=None, grace_us=500_000)
    create(tmp_path / "ledger", info)
    write_smalls(tmp_path / "ledger", SMALL)
    return tmp_path / "ledger", info


@pytest.fixture
def streaming(spark: Any) -> Iterator[Any]:
    """The tests' session, with what a watcher's is told besides."""
    before = {name: spark.conf.get(name, None) for name in CONF}
    for name, value in CONF.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        (spark.conf.unset(name) if value is None else spark.conf.set(name, value))


def land(where: Path, first: int, end: int, *, lost: int = NONE, disorder: int = NONE) -> None:
    """These messages, sent, stored and delivered one after the other, but for one that is lost, or out of order."""
    seqs = range(first, end)
    attempts = [Attempt(0, seq, NONE, seq * 1000, 64, 7) for seq in seqs]
    outcomes = [Outcome(0, seq, 1, seq, NONE, seq * 1000 + 10, 0) for seq in seqs]
    given = [
        Delivery(0, 0, seq, 0, seq, NONE, 1, seq, NONE, 0, seq * 1000 + 20, 7, gap=0 if seq == disorder else 1)
        for seq in seqs
        if seq != lost
    ]
    add(where, ATTEMPT, first, attempts)
    add(where, OUTCOME, first, outcomes)
    add(where, DELIVERY, first, given)


def watched(session: Any, where: Path, info: LedgerInfo, steps: list[Callable[[list[Alarm]], bool]]) -> list[Alarm]:
    """Every step is asked again and again until it is done; then the run ends."""
    said: list[Alarm] = []
    left, until_s = list(steps), time.monotonic() + DEADLINE_S

    def go_on() -> bool:
        assert time.monotonic() < until_s, f"{len(left)} steps were left, with {said}"
        if left and left[0](said):
            left.pop(0)
        if not left:
            write_info(where, msgspec.structs.replace(info, ended_unix_ms=time.time_ns() // 1_000_000))
        return False

    Watch(session, open_ledger(str(where)), said.append).run(go_on)
    return said


def test_breaches_are_said_as_they_land_and_once(streaming: Any, growing: tuple[Path, LedgerInfo]) -> None:
    where, info = growing

    def clean(_said: list[Alarm]) -> bool:
        land(where, 0, 100)
        return True

    def broken(said: list[Alarm]) -> bool:
        assert said == []
        land(where, 100, 200, lost=130, disorder=170)
        return True

    def both_said(said: list[Alarm]) -> bool:
        return {(alarm.requirement, alarm.seq) for alarm in said} == {(clauses.LOST, 130), (clauses.ORDER, 170)}

    said = watched(streaming, where, info, [clean, broken, both_said])
    assert len(said) == 2
    # Somebody starts the watcher again.
    write_info(where, info)
    assert watched(streaming, where, info, [lambda _said: True]) == []
