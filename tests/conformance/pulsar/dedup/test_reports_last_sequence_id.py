"""The check of `dedup.reports-last-sequence-id`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dedup._broker import A_MINUTE, RESTARTED, asked_again, judged, restarted
from tests.conformance.pulsar.dedup._histories import CASE

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import Meta, Stepped
from assay_conformance.pulsar.checks.dedup.reports_last_sequence_id import reports_last_sequence_id


def test_name_that_is_forgotten_after_a_restart_is_no_matter_of_what_is_told() -> None:
    assert judged(reports_last_sequence_id, restarted(last=-1), RESTARTED) == ([], 0)


@pytest.mark.parametrize(("after_ms", "codes"), [(1, []), (500, ["wrong-last-id"])])
def test_who_waits_is_answered_before_a_restart_is_told(after_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.cut()
    story.producer_again(1, last_sequence_id=-1)
    story.after(after_ms).add(Stepped, step=0)
    assert judged(reports_last_sequence_id, story, RESTARTED)[0] == codes


def test_name_that_may_be_forgotten_is_told_as_the_broker_likes() -> None:
    for told in (-1, 0):
        assert judged(reports_last_sequence_id, asked_again(left_at_ms=100, told=told), A_MINUTE)[0] == []


def _told(last: int, stored: int = 2) -> Script:
    """Messages 0 to 2 arrive and so many are stored; the producer comes back and is told this."""
    story = Script()
    story.producer()
    for number in range(3):
        story.send(number)
        story.send_frame(number)
    story.stored(*range(stored + 1), sequence_id=0, meta=Meta(producer_name="p", sequence_id=stored))
    story.cut()
    story.producer_again(1, last_sequence_id=last)
    return story


def test_last_id_that_is_stored_is_accepted() -> None:
    check = trial(reports_last_sequence_id, _told(2).done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


def test_last_id_that_has_only_arrived_is_accepted() -> None:
    assert codes_of(trial(reports_last_sequence_id, _told(2, stored=1).done(), CASE)) == []


def test_last_id_below_what_is_stored_is_found() -> None:
    assert codes_of(trial(reports_last_sequence_id, _told(1).done(), CASE)) == ["wrong-last-id"]


def test_last_id_that_nobody_sent_is_found() -> None:
    assert codes_of(trial(reports_last_sequence_id, _told(3).done(), CASE)) == ["wrong-last-id"]


def test_any_last_id_without_deduplication_is_found() -> None:
    assert codes_of(trial(reports_last_sequence_id, _told(2).done())) == ["wrong-last-id"]
