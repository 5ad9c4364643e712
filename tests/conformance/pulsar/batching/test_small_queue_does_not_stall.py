"""The check of `batching.small-queue-does-not-stall`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import MS, PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.model.facts import Lack
from assay_conformance.pulsar.checks.batching.small_queue_does_not_stall import small_queue_does_not_stall

SMALL: dict[str, Any] = {
    "batching": True,
    "batching_max_messages": 10,
    "batching_max_publish_delay_ms": 50,
    "max_pending_messages": 2,
    "block_if_queue_full": True,
}


def _small_queue(second_ms: float, *inside: int) -> Check:
    story = Script()
    story.producer(**SMALL)
    story.at(100)
    for number in range(5):
        story.send(number)
    story.at(151).send_frame(0, 1, batch=True)
    story.at(160).receipt(0)
    story.ok(0, called_ns=100 * MS)
    story.ok(1, called_ns=100 * MS)
    story.at(second_ms).send_frame(*inside, batch=True)
    for number in inside:
        story.ok(number, called_ns=102 * MS)
    return trial(small_queue_does_not_stall, story.done())


def test_batches_that_leave_by_their_delay_and_fit_the_queue_are_accepted() -> None:
    check = _small_queue(212, 2, 3)
    assert (check.findings, check.exercised) == ([], 2)


@pytest.mark.parametrize(("ends_ms", "codes"), [(1_200, ["too-late"]), (2_103, [])])
def test_room_that_a_time_out_makes_may_be_reported_by_a_clock_that_is_ahead(ends_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer(**SMALL)
    story.at(100)
    calls = [story.send(number) for number in range(3)]
    story.at(151).send_frame(0, 1, batch=True)
    story.at(2_100).send_frame(2, batch=True)
    for call in calls[:2]:
        story.at(2_104).complete(call, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT, done_ns=ends_ms * MS)
    story.ok(2, called_ns=102 * MS)
    check = trial(small_queue_does_not_stall, story.done())
    assert [finding.code for finding in check.findings] == codes


def test_batch_that_leaves_long_after_there_was_room_is_found() -> None:
    assert [finding.code for finding in _small_queue(600, 2, 3).findings] == ["too-late"]


@pytest.mark.parametrize(("wait_ms", "codes"), [(24, []), (2, ["too-late"])])
def test_batch_is_not_late_where_short_waits_of_the_machine_come_to_as_much(wait_ms: int, codes: list[str]) -> None:
    """The receipt has to be heard, a blocked send to be woken, a timer to be armed and to end: four waits, each too
    short to excuse a batch by itself."""
    story = Script()
    story.producer(**SMALL)
    sends = [story.at(100).send(number) for number in range(4)]
    story.at(151).send_frame(0, 1, batch=True)
    story.at(160).receipt(0)
    for end_ms in (200, 300):
        story.at(end_ms).load(100, loop_lag_ms=wait_ms)
    story.at(320).send_frame(2, 3, batch=True)
    story.at(400).load(100, loop_lag_ms=wait_ms)
    for send in sends:
        story.complete(send, called_ns=100 * MS)
    assert [finding.code for finding in trial(small_queue_does_not_stall, story.done()).findings] == codes


def test_room_is_made_when_a_send_ends_however_late_the_agent_says_so() -> None:
    story = Script()
    story.producer(**SMALL)
    sends = [story.at(100).send(number) for number in range(3)]
    story.at(151).send_frame(0, 1, batch=True)
    story.at(452).send_frame(2, batch=True)
    for number, ended_ms in ((0, 400), (1, 400), (2, 460)):
        story.complete(sends[number], Outcome.UNKNOWN, called_ns=102 * MS, done_ns=ended_ms * MS)
    assert trial(small_queue_does_not_stall, story.done()).findings == []


def test_room_is_made_by_a_send_that_the_bench_heard_of_before_its_agent_did() -> None:
    """The agent's clock, as the bench knows it, is half a millisecond fast."""
    story = Script()
    story.producer(**SMALL)
    sends = [story.at(100).send(number) for number in range(3)]
    story.at(151).send_frame(0, 1, batch=True)
    story.at(451)
    for send in sends[:2]:
        story.complete(send, Outcome.UNKNOWN, called_ns=102 * MS, done_ns=453 * MS)
    story.at(452).send_frame(2, batch=True)
    story.at(600).complete(sends[2], Outcome.UNKNOWN, called_ns=102 * MS)
    assert trial(small_queue_does_not_stall, story.done()).findings == []


def test_batch_larger_than_the_queue_is_found() -> None:
    assert [finding.code for finding in _small_queue(212, 2, 3, 4).findings] == ["larger-than-queue"]


def _behind_full_queue(second_ms: float, *, flushed: bool = False, **settings: Any) -> Check:
    story = Script()
    story.producer(**{**SMALL, "batching_max_publish_delay_ms": 500, **settings})
    story.at(100)
    for number in range(5):
        story.send(number)
    story.at(601).send_frame(0, 1, batch=True)
    story.at(610).receipt(0)
    for number in (0, 1):
        story.ok(number, called_ns=100 * MS)
    if flushed:
        story.at(615).complete(story.invoke("flush", PRODUCER))
    story.at(second_ms).send_frame(2, 3, batch=True)
    for number in (2, 3):
        story.ok(number, called_ns=102 * MS)
    return trial(small_queue_does_not_stall, story.done())


def test_batch_that_leaves_because_its_queue_is_full_is_found() -> None:
    assert [finding.code for finding in _behind_full_queue(620).findings] == ["too-early"]


def test_batches_a_delay_apart_are_accepted_whenever_their_messages_came() -> None:
    assert _behind_full_queue(1_095).findings == []


@pytest.mark.parametrize("otherwise", [{"flushed": True}, {"batching_max_bytes": 20}, {"batching_type": "key_based"}])
def test_batch_behind_a_full_queue_that_something_else_may_have_closed_is_not_judged(otherwise: dict[str, Any]) -> None:
    assert _behind_full_queue(620, **otherwise).findings == []


def _stuck(*, receipted: bool) -> Check:
    story = Script()
    story.producer(**SMALL)
    sends = [story.send(number) for number in range(3)]
    story.send_frame(0, 1, batch=True)
    if receipted:
        story.receipt(0)
    story.at(6_000).overdue(sends[2], 5_000)
    return trial(small_queue_does_not_stall, story.done())


def test_message_that_never_leaves_with_nothing_in_flight_is_found() -> None:
    assert [finding.code for finding in _stuck(receipted=True).findings] == ["stuck"]


def test_message_that_waits_for_a_receipt_is_not_stuck() -> None:
    assert _stuck(receipted=False).findings == []


@pytest.mark.parametrize(("called_ms", "codes"), [(None, ["stuck"]), (900, ["stuck"]), (1_100, [])])
def test_time_of_a_message_begins_when_the_client_is_called(called_ms: int | None, codes: list[str]) -> None:
    story = Script()
    story.producer(**SMALL)
    asked = story.send(0)
    story.at(6_000).overdue(asked, 5_000)
    if called_ms is not None:
        story.complete(asked, called_ns=called_ms * MS)
    assert [finding.code for finding in trial(small_queue_does_not_stall, story.done()).findings] == codes


def test_message_is_not_stuck_behind_a_send_that_blocks() -> None:
    story = Script()
    story.producer(**SMALL)
    story.send(0)
    story.at(6_000).overdue(story.send(1), 5_000)
    facts = msgspec.structs.replace(ANY_CLIENT, lacks=frozenset({Lack.OVERLAPPING_SENDS}))
    assert trial(small_queue_does_not_stall, story.done(), ANY_CASE, facts).findings == []
