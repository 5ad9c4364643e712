"""The check of `producer.flush-waits`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Invoke, Outcome
from assay_conformance.pulsar.checks.producer.flush_waits import flush_waits


def _flushing() -> tuple[Script, Invoke]:
    """Messages 0 and 1 are sent, 0 is receipted, and flush was asked for."""
    story = Script()
    story.producer()
    for number in (0, 1):
        story.send(number)
        story.send_frame(number)
    flush = story.invoke("flush", PRODUCER)
    story.receipt(0)
    story.ok(0)
    return story, flush


def test_flush_behind_the_last_receipt_is_accepted() -> None:
    story, flush = _flushing()
    story.receipt(1)
    story.complete(flush)
    check = trial(flush_waits, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_flush_before_the_last_receipt_is_found() -> None:
    story, flush = _flushing()
    story.complete(flush)
    assert codes_of(trial(flush_waits, story.done())) == ["flushed-early"]


def test_flush_while_a_send_has_not_left_is_found() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.complete(story.invoke("flush", PRODUCER))
    assert codes_of(trial(flush_waits, story.done())) == ["flushed-early"]


def test_flush_before_a_send_that_is_too_small_to_be_told_on_the_wire_shows_nothing() -> None:
    story = Script()
    story.producer()
    story.send(0, size=1)
    story.complete(story.invoke("flush", PRODUCER))
    check = trial(flush_waits, story.done())
    assert (check.findings, check.exercised) == ([], 0)


def test_flush_with_nothing_under_way_shows_nothing() -> None:
    story = Script()
    story.producer()
    story.complete(story.invoke("flush", PRODUCER))
    assert trial(flush_waits, story.done()).exercised == 0


def test_flush_need_not_wait_for_sends_that_failed() -> None:
    story, flush = _flushing()
    story.unknown(1)
    story.complete(flush)
    assert codes_of(trial(flush_waits, story.done())) == []


@pytest.mark.parametrize(("later_ms", "codes"), [(1, []), (1_000, ["flushed-early"])])
def test_flush_may_be_reported_just_ahead_of_the_failure_that_ended_it(later_ms: int, codes: list[str]) -> None:
    story, flush = _flushing()
    story.complete(flush)
    sent = next(one for one in story.events if isinstance(one, Invoke) and one.number == 1)
    story.after(later_ms).complete(sent, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
    assert codes_of(trial(flush_waits, story.done())) == codes
