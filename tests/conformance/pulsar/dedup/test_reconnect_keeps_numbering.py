"""The check of `dedup.reconnect-keeps-numbering`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.dedup.reconnect_keeps_numbering import reconnect_keeps_numbering


def _renumbered(told: int, next_id: int) -> Check:
    """Messages 0 and 1 are sent, the broker tells this after a reconnect, and message 2 gets this id."""
    story = Script()
    story.producer()
    for number in (0, 1):
        story.send(number)
        story.send_frame(number)
    story.cut()
    story.producer_again(1, last_sequence_id=told)
    story.send(2)
    story.send_frame(2, conn=1, sequence_id=next_id)
    return trial(reconnect_keeps_numbering, story.done())


def test_own_number_after_a_reconnect_is_accepted() -> None:
    check = _renumbered(41, 2)
    assert (check.findings, check.exercised) == ([], 1)


def test_number_set_forward_by_the_broker_is_found() -> None:
    assert codes_of(_renumbered(41, 42)) == ["took-the-brokers"]


@pytest.mark.parametrize(("has_ids", "codes"), [(True, ["took-the-brokers"]), (False, [])])
def test_numbers_behind_a_batch_without_ids_of_its_messages_are_not_judged(has_ids: bool, codes: list[str]) -> None:
    story = Script()
    story.producer()
    for number in (0, 1):
        story.send(number)
    members = Script().send_frame(0, 1).members
    story.send_frame(0, 1, members=members if has_ids else tuple(replace(one, sequence_id=None) for one in members))
    story.cut()
    story.producer_again(1, last_sequence_id=0)
    story.send(2)
    story.send_frame(2, conn=1, sequence_id=1)
    assert codes_of(trial(reconnect_keeps_numbering, story.done())) == codes


def test_number_set_back_by_the_broker_is_found() -> None:
    assert codes_of(_renumbered(-1, 0)) == ["took-the-brokers"]


def test_broker_that_knows_the_same_number_shows_nothing() -> None:
    check = _renumbered(1, 2)
    assert (codes_of(check), check.exercised) == ([], 0)
