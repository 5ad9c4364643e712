"""The check of `batching.closes-at-first-limit`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import MESSAGE_BYTES, Script
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.pulsar.checks.batching.closes_at_first_limit import closes_at_first_limit

LIMITS: dict[str, Any] = {"batching_max_messages": 3, "batching_max_bytes": 10_000, "batching_max_publish_delay_ms": 50}


def _batch(count: int, sent_ms: float = 130, case: object = ANY_CASE, **limits: int | bool) -> Check:
    story = Script()
    story.producer(**{"batching": True, **LIMITS, **limits})
    story.at(100)
    for number in range(count):
        story.send(number)
    story.at(sent_ms).send_frame(*range(count), batch=True)
    story.ok(0)
    return trial(closes_at_first_limit, story.done(), case)  # type: ignore[arg-type]


def test_batch_within_its_limits_is_accepted() -> None:
    check = _batch(3)
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_that_leaves_by_its_delay_is_accepted() -> None:
    check = _batch(1, sent_ms=152)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(("left_ms", "exercised"), [(150, 1), (130, 0)])
def test_batch_that_leaves_when_a_client_looks_once_a_delay_shows_something(left_ms: float, exercised: int) -> None:
    """Its producer was admitted at 0 ms, its first message came at 120 ms."""
    story = Script()
    story.producer(batching=True, **LIMITS)
    story.at(120).send(0)
    story.at(left_ms).send_frame(0, batch=True)
    story.ok(0)
    assert trial(closes_at_first_limit, story.done()).exercised == exercised


def test_batch_that_leaves_before_any_limit_shows_nothing() -> None:
    assert _batch(2).exercised == 0


@pytest.mark.parametrize(("room_bytes", "exercised"), [(-1, 1), (0, 0)])
def test_batch_is_full_where_the_next_message_would_exceed_its_bytes(room_bytes: int, exercised: int) -> None:
    story = Script()
    story.producer(batching=True, **{**LIMITS, "batching_max_bytes": 3 * MESSAGE_BYTES + room_bytes})
    for number in range(3):
        story.send(number)
    story.send_frame(0, 1, batch=True)
    story.send_frame(2, batch=True)
    assert trial(closes_at_first_limit, story.done()).exercised == exercised


def test_too_many_messages_are_found() -> None:
    assert codes_of(_batch(4)) == ["too-many-messages"]


def test_message_taken_after_the_bytes_were_reached_is_found() -> None:
    assert codes_of(_batch(3, batching_max_bytes=2 * MESSAGE_BYTES)) == ["too-many-bytes"]


def test_message_that_reaches_the_bytes_is_accepted() -> None:
    assert codes_of(_batch(2, batching_max_bytes=2 * MESSAGE_BYTES)) == []


def _full(left_ms: float, *, answered_ms: float = 110, count: int = 3) -> Check:
    """Of batches of three and a delay of a second: one message, whose receipt comes then, and the others at 100 ms."""
    story = Script()
    story.producer(batching=True, **{**LIMITS, "batching_max_publish_delay_ms": 1_000})
    story.at(50).send(0)
    story.at(60).send_frame(0, batch=True)
    story.at(100)
    for number in range(1, count + 1):
        story.send(number)
    story.at(answered_ms).receipt(0)
    story.at(left_ms).send_frame(*range(1, count + 1), batch=True)
    for number in range(count + 1):
        story.ok(number)
    return trial(closes_at_first_limit, story.done())


@pytest.mark.parametrize(
    ("left_ms", "answered_ms", "codes"), [(150, 110, []), (600, 110, ["full-kept"]), (600, 590, []), (150, 400, [])]
)
def test_full_batch_leaves_at_once_but_for_what_waits_before_it(
    left_ms: float, answered_ms: float, codes: list[str]
) -> None:
    assert codes_of(_full(left_ms, answered_ms=min(answered_ms, left_ms))) == codes


def test_batch_with_room_may_wait_for_its_delay() -> None:
    assert codes_of(_full(600, count=2)) == []


def test_batch_that_leaves_late_is_found() -> None:
    assert codes_of(_batch(2, sent_ms=400)) == ["too-late"]


def test_delay_is_not_judged_where_the_broker_may_not_read() -> None:
    topology = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=1)),))
    assert codes_of(_batch(2, 400, msgspec.structs.replace(ANY_CASE, topology=topology))) == []


@pytest.mark.parametrize(("left_ms", "codes"), [(800, []), (850, []), (1_300, ["too-late"])])
def test_batch_that_waited_for_a_connection_leaves_within_its_delay_of_that(left_ms: float, codes: list[str]) -> None:
    story = Script()
    story.producer(batching=True, **LIMITS)
    story.cut()
    story.send(0)
    story.at(800)
    story.producer_again(1)
    story.at(left_ms).send_frame(0, conn=1, batch=True)
    story.ok(0)
    assert codes_of(trial(closes_at_first_limit, story.done())) == codes


def test_producer_that_does_not_batch_is_not_judged() -> None:
    assert _batch(4, batching=False).exercised == 0


def test_load_sampled_after_the_batch_left_counts() -> None:
    story = Script()
    story.producer(batching=True, **LIMITS)
    story.at(100).send(0)
    story.at(400).send_frame(0, batch=True)
    story.ok(0)
    story.at(450).load(400, loop_lag_ms=200)
    check = trial(closes_at_first_limit, story.done())
    assert (codes_of(check), bool(check.undecided_because)) == ([], True)


def test_batch_of_a_message_that_the_agent_kept_back_is_not_late() -> None:
    story = Script()
    story.producer(batching=True, **LIMITS)
    story.at(100).send(0)
    story.at(800).send_frame(0, batch=True)
    story.ok(0, called_ns=790_000_000)
    assert codes_of(trial(closes_at_first_limit, story.done())) == []
