"""Partitions beside each other, both ways. Topic `t` has five."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.partitions import FillsInWindows, IndependentPartitions, WindowNotBelowDelay
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.model.policy import BrokerSettings

FIVE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=5),)))
WINDOWS: dict[str, Any] = {
    "routing": "round_robin",
    "batching": True,
    "batching_max_publish_delay_ms": 100,
    "batching_partition_switch_frequency": 2,
    "batching_max_messages": 1_000,
    "batching_max_bytes": 100_000,
}


class Story(Script):
    """A producer with a wire id for each partition."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        opening = self.invoke("open_producer", PRODUCER, args={"topic": "t", "config": config})
        self.connected()
        for partition in range(5):
            self.producer_ready(producer_id=partition, topic=f"t-partition-{partition}", name=f"n{partition}")
        self.complete(opening)

    def goes(self, number: int, partition: int) -> None:
        self.send(number)
        self.send_frame(number, producer_id=partition)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done(), FIVE)
        return [finding.code for finding in said.findings], said.exercised


# --- one that stands still ---


def test_message_that_leaves_beside_a_slow_partition_is_accepted() -> None:
    story = Story()
    story.goes(0, 1)
    story.goes(1, 2)
    assert story.judged(IndependentPartitions) == ([], 1)


def test_message_that_waits_for_a_slow_partition_is_found() -> None:
    story = Story()
    story.goes(0, 1)
    story.send(1)
    story.after(800)
    story.send_frame(1, producer_id=2)
    assert story.judged(IndependentPartitions) == (["held-up"], 1)


def test_message_waits_for_a_broker_that_does_not_always_read() -> None:
    story = Story()
    story.goes(0, 1)
    story.send(1)
    story.after(800)
    story.send_frame(1, producer_id=2)
    settings = BrokerSettings(max_pending_sends=2)
    slow = msgspec.structs.replace(FIVE, topology=msgspec.structs.replace(FIVE.topology, settings=settings))
    assert trial(IndependentPartitions, story.done(), slow).findings == []


def test_message_to_the_slow_partition_itself_shows_nothing() -> None:
    story = Story()
    story.goes(0, 1)
    story.send(1)
    story.after(800)
    story.send_frame(1, producer_id=1)
    assert story.judged(IndependentPartitions) == ([], 0)


def test_message_that_its_caller_asks_for_behind_a_synchronous_one_shows_nothing() -> None:
    story = Story()
    story.send(0, mode="sync")
    story.send_frame(0, producer_id=1)
    story.send(1)
    story.after(800)
    story.send_frame(1, producer_id=2)
    assert story.judged(IndependentPartitions) == ([], 0)


def test_synchronous_message_that_waits_for_a_slow_partition_is_found() -> None:
    story = Story()
    story.goes(0, 1)
    story.send(1, mode="sync")
    story.after(800)
    story.send_frame(1, producer_id=2)
    assert story.judged(IndependentPartitions) == (["held-up"], 1)


# --- windows ---


def _every_50_ms(*partitions: int, **config: Any) -> tuple[list[str], int]:
    story = Story(**{**WINDOWS, **config})
    for number, partition in enumerate(partitions):
        story.at(100 + 50 * number)
        story.goes(number, partition)
    return story.judged(FillsInWindows)


def test_windows_are_accepted() -> None:
    assert _every_50_ms(3, 3, 4, 4, 4, 4, 0, 0) == ([], 1)


def test_turns_by_message_are_found() -> None:
    assert _every_50_ms(3, 4, 0) == (["left-early"], 1)


def test_window_may_last_one_delay_more() -> None:
    assert _every_50_ms(*[3] * 7) == ([], 0)


def test_partition_that_stays_is_found() -> None:
    assert _every_50_ms(*[3] * 9) == (["stayed-too-long"], 0)


def test_partition_left_out_is_found() -> None:
    assert _every_50_ms(3, 4, 4, 4, 4, 1) == (["out-of-turn"], 1)


def test_full_batch_may_leave_before_its_window() -> None:
    assert _every_50_ms(3, 4, 0, batching_max_messages=1) == ([], 1)


def test_turns_without_batching_are_another_matter() -> None:
    assert _every_50_ms(3, 4, 0, batching=False) == ([], 0)


@pytest.mark.parametrize(
    ("outcome", "error", "codes", "exercised"),
    [(Outcome.FAIL, ErrorClass.INVALID_CONFIG, [], 1), (Outcome.OK, None, ["taken"], 0)],
)
def test_no_window_is_to_be_refused(
    outcome: Outcome, error: ErrorClass | None, codes: list[str], exercised: int
) -> None:
    story = Script()
    config = {"batching_partition_switch_frequency": 0}
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t", "config": config})
    story.complete(opening, outcome, error=error)
    said = trial(WindowNotBelowDelay, story.done(), FIVE)
    assert ([finding.code for finding in said.findings], said.exercised) == (codes, exercised)
