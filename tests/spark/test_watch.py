"""A ledger that is watched as it grows: what breaks is said once, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.growing import SMALL, Growing

from assay_conformance.ledger import clauses
from assay_conformance.ledger.rows import Subscription, Topic
from assay_reports.ledgers.opening import open_ledger
from assay_reports.spark.alarms import Alarm
from assay_reports.spark.watch import CONF, Watch

DEADLINE_S = 240


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    """An empty ledger of a run that began a minute ago, and does not wait long for what is late."""
    return Growing(tmp_path / "ledger", time.time_ns() // 1_000_000 - 60_000, grace_us=500_000)


@pytest.fixture
def streaming(spark: Any) -> Iterator[Any]:
    """The tests' session, with what a watcher's is told besides."""
    before = {name: spark.conf.get(name, None) for name in CONF}
    for name, value in CONF.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        (spark.conf.unset(name) if value is None else spark.conf.set(name, value))


def watched(
    session: Any, ledger: Growing, steps: list[Callable[[list[Alarm]], bool]], notes: list[str] | None = None
) -> list[Alarm]:
    """Every step is asked again and again until it is done; then the run ends."""
    said: list[Alarm] = []
    left, until_s = list(steps), time.monotonic() + DEADLINE_S

    def go_on() -> bool:
        assert time.monotonic() < until_s, f"{len(left)} steps were left, with {said}"
        if left and left[0](said):
            left.pop(0)
        if not left:
            ledger.end()
        return False

    Watch(session, open_ledger(str(ledger.where)), said.append, notes.append if notes is not None else print).run(go_on)
    return said


@pytest.mark.one_in(2)
def test_breaches_are_said_as_they_land_and_once(streaming: Any, growing: Growing) -> None:
    def clean(_said: list[Alarm]) -> bool:
        growing.land(0, 100)
        return True

    def broken(said: list[Alarm]) -> bool:
        assert said == []
        growing.land(100, 200, lost={130}, disorder={170})
        return True

    def both_said(said: list[Alarm]) -> bool:
        return {(alarm.requirement, alarm.seq) for alarm in said} == {(clauses.LOST, 130), (clauses.ORDER, 170)}

    said = watched(streaming, growing, [clean, broken, both_said])
    assert len(said) == 2
    # Somebody starts the watcher again.
    growing.go_on()
    assert watched(streaming, growing, [lambda _said: True]) == []


def test_a_damaged_part_is_named_and_what_can_be_seen_without_it_is_said(streaming: Any, growing: Growing) -> None:
    growing.land(0, 100)
    part = next((growing.where / "delivery").glob("*.parquet"))
    content = bytearray(part.read_bytes())
    content[4:400] = bytes(396)
    part.write_bytes(content)
    notes: list[str] = []

    def broken(_said: list[Alarm]) -> bool:
        growing.land(100, 200, disorder=set(range(110, 160)))
        return True

    def all_said(said: list[Alarm]) -> bool:
        return len(said) >= 50 and bool(notes)

    said = watched(streaming, growing, [broken, all_said], notes)
    assert {(alarm.requirement, alarm.seq) for alarm in said} == {(clauses.ORDER, seq) for seq in range(110, 160)}
    assert len(said) == 50
    (named,) = notes
    assert named.startswith(f"delivery/{part.name}: its rows cannot be read")


@pytest.mark.one_in(2)
def test_keys_refusals_and_rates_are_watched_too(streaming: Any, tmp_path: Path) -> None:
    promised: dict[str, list[tuple[Any, ...]]] = {
        **SMALL,
        "topic": [Topic(0, "t", publish_rate=1)],
        "subscription": [Subscription(0, "s", "Key_Shared", dispatch_rate=1)],
    }
    growing = Growing(tmp_path / "ledger", time.time_ns() // 1_000_000 - 60_000, promised, grace_us=500_000)
    wanted = {
        (clauses.KEY_ORDER, 0, 170),
        (clauses.WINDOW, 0, 130),
        (clauses.DISPATCH, 0, -1),
        (clauses.PUBLISH, -1, -1),
    }

    def broken(_said: list[Alarm]) -> bool:
        growing.land(0, 3_000, key_disorder={170}, refused={130}, over_s=20)
        return True

    def clean(_said: list[Alarm]) -> bool:
        growing.land(3_010, 3_020)
        return True

    def time_passed(_said: list[Alarm]) -> bool:
        if time.monotonic() < began_s + 1:
            return False
        growing.land(3_000, 3_010)
        return True

    def all_said(said: list[Alarm]) -> bool:
        return wanted <= {(alarm.requirement, alarm.sub, alarm.seq) for alarm in said}

    began_s = time.monotonic()
    said = watched(streaming, growing, [broken, time_passed, all_said])
    assert {(alarm.requirement, alarm.sub, alarm.seq) for alarm in said} == wanted
    assert len(said) == len(wanted)
    # Somebody starts the watcher again, and the run goes on.
    growing.go_on()
    assert watched(streaming, growing, [clean]) == []
