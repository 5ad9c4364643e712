"""The check of `dedup.forgets-inactive-producers`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.dedup._broker import A_MINUTE, asked_again, judged

from assay_conformance.pulsar.checks.dedup.forgets_inactive_producers import forgets_inactive_producers


def test_name_that_nobody_used_is_forgotten() -> None:
    assert judged(forgets_inactive_producers, asked_again(left_at_ms=100, told=-1), A_MINUTE) == ([], 1)


def test_name_that_nobody_used_and_is_remembered_is_found() -> None:
    assert judged(forgets_inactive_producers, asked_again(left_at_ms=100, told=0), A_MINUTE)[0] == ["remembered"]


def test_name_may_be_remembered_until_the_broker_looks_again() -> None:
    story = asked_again(left_at_ms=100, told=0, asked_at_ms=79_000)
    assert judged(forgets_inactive_producers, story, A_MINUTE) == ([], 0)


def test_name_with_a_silent_producer_is_remembered() -> None:
    assert judged(forgets_inactive_producers, asked_again(left_at_ms=89_000, told=0), A_MINUTE) == ([], 1)


def test_name_with_a_silent_producer_that_is_forgotten_is_found() -> None:
    story = asked_again(left_at_ms=89_000, told=-1)
    assert judged(forgets_inactive_producers, story, A_MINUTE)[0] == ["forgotten-in-use"]


def test_name_that_was_forgotten_stays_so_until_something_is_stored_again() -> None:
    story = asked_again(left_at_ms=100, told=-1)
    story.cut(1)
    story.producer_again(2, last_sequence_id=-1)
    assert judged(forgets_inactive_producers, story, A_MINUTE) == ([], 1)
