"""The check of `chunking.disabled-rejects-oversize`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.chunking._size_limits import CASE

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Invoke, Overdue
from assay_conformance.pulsar.checks.chunking.disabled_rejects_oversize import disabled_rejects_oversize


def _oversize(**config: Any) -> Script:
    story = Script()
    story.producer(**config)
    story.send(0, size=2_500)
    return story


def test_oversize_message_refused_at_once_is_accepted() -> None:
    story = _oversize()
    story.fail(0, ErrorClass.TOO_LARGE)
    check = trial(disabled_rejects_oversize, story.done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize("error", [ErrorClass.TERMINATED, ErrorClass.FENCED])
def test_oversize_message_that_ends_with_its_producer_shows_nothing(error: ErrorClass) -> None:
    story = _oversize()
    story.unknown(0, error)
    assert codes_of(trial(disabled_rejects_oversize, story.done(), CASE)) == []


@pytest.mark.parametrize("error", [ErrorClass.TIMEOUT, ErrorClass.TRANSPORT])
def test_oversize_message_that_fails_otherwise_is_found(error: ErrorClass) -> None:
    story = _oversize()
    story.unknown(0, error)
    assert codes_of(trial(disabled_rejects_oversize, story.done(), CASE)) == ["not-refused"]


def test_oversize_message_that_ends_as_its_producer_is_closed_shows_nothing() -> None:
    story = _oversize()
    story.invoke("close", PRODUCER)
    story.unknown(0, ErrorClass.OTHER)
    check = trial(disabled_rejects_oversize, story.done(), CASE)
    assert (codes_of(check), check.exercised) == ([], 0)


def test_oversize_message_that_is_told_as_sent_while_its_producer_is_closed_is_found() -> None:
    story = _oversize()
    story.invoke("close", PRODUCER)
    story.ok(0)
    assert codes_of(trial(disabled_rejects_oversize, story.done(), CASE)) == ["not-refused"]


def test_oversize_message_that_fails_before_its_producer_is_closed_is_found() -> None:
    story = _oversize()
    story.unknown(0, ErrorClass.OTHER)
    story.invoke("close", PRODUCER)
    assert codes_of(trial(disabled_rejects_oversize, story.done(), CASE)) == ["not-refused"]


def test_oversize_message_that_waits_for_room_for_ever_is_not_judged() -> None:
    story = _oversize()
    call = next(event for event in story.events if isinstance(event, Invoke) and event.verb == "send")
    story.add(Overdue, op=call.op, verb="send", handle=call.handle, deadline_ms=20_000)
    story.unknown(0, ErrorClass.OTHER)
    assert codes_of(trial(disabled_rejects_oversize, story.done(), CASE)) == []


def test_message_that_a_greater_limit_has_room_for_since_is_not_judged() -> None:
    story = Script()
    story.producer()
    story.down("CONNECTED", fields={"max_message_size": 1_000})
    story.send(0, size=2_500)
    story.connected(1)
    story.down("CONNECTED", 1, fields={"max_message_size": 10_000})
    story.ok(0)
    assert codes_of(trial(disabled_rejects_oversize, story.done(), ANY_CASE)) == []


def test_oversize_message_that_leaves_is_found() -> None:
    story = _oversize()
    story.send_frame(0, size=20_000)
    assert codes_of(trial(disabled_rejects_oversize, story.done(), CASE)) == ["sent-oversize"]


def test_message_that_a_router_may_fail_first_is_not_judged() -> None:
    story = _oversize(router="out_of_range")
    story.fail(0, ErrorClass.INVALID_CONFIG)
    check = trial(disabled_rejects_oversize, story.done(), CASE)
    assert (codes_of(check), check.exercised) == ([], 0)


def test_message_that_may_be_compressed_is_not_judged() -> None:
    story = _oversize(compression="ZLIB")
    story.ok(0)
    check = trial(disabled_rejects_oversize, story.done(), CASE)
    assert (codes_of(check), check.exercised) == ([], 0)


def test_oversize_message_may_wait_for_its_batch_until_it_times_out() -> None:
    story = _oversize(batching=True, batching_max_publish_delay_ms=700, send_timeout_ms=500)
    story.unknown(0, ErrorClass.TIMEOUT)
    assert codes_of(trial(disabled_rejects_oversize, story.done(), CASE)) == []


def test_oversize_message_of_a_producer_that_opens_at_its_first_use_may_end_as_that_does() -> None:
    story = _oversize(lazy_start_partitioned_producers=True)
    story.unknown(0, ErrorClass.OTHER)
    assert codes_of(trial(disabled_rejects_oversize, story.done(), CASE)) == []
