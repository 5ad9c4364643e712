"""resend.checks-highest-sequence-id, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import AgentEnded, ClosedBy, Fate, Fired, Member
from assay_conformance.pulsar.checks.resend.checks_highest_sequence_id import checks_highest_sequence_id


def _judged(check: type[Check], story: Script) -> tuple[list[str], int]:
    said = trial(check, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _receipt(*, highest: int, fate: Fate = Fate.ALTERED, after: str = "flush") -> Script:
    story = Script()
    story.producer()
    story.invoke(after, PRODUCER + 1)
    story.send_frame(0, 1, 2, highest_sequence_id=2)
    story.receipt(0, highest_sequence_id=highest, fate=fate)
    return story


def test_batch_sent_again_behind_a_receipt_of_another_range_is_accepted() -> None:
    story = _receipt(highest=7)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, 1, 2, conn=1, highest_sequence_id=2)
    assert _judged(checks_highest_sequence_id, story) == ([], 1)


def test_receipt_of_another_range_that_is_taken_is_told() -> None:
    assert _judged(checks_highest_sequence_id, _receipt(highest=7)) == (["taken"], 1)


def test_connection_given_up_over_a_receipt_of_another_range_is_as_good() -> None:
    story = _receipt(highest=7)
    story.closed(by=ClosedBy.CLIENT)
    assert _judged(checks_highest_sequence_id, story) == ([], 1)


@pytest.mark.parametrize(("ended_ms", "said"), [(10, ([], 0)), (300, (["taken"], 1))])
def test_connection_that_ends_with_the_process_is_not_given_up(ended_ms: int, said: tuple[list[str], int]) -> None:
    story = _receipt(highest=7)
    story.after(ended_ms).closed(by=ClosedBy.CLIENT)
    story.add(AgentEnded, reason="killed", exit_status=-9, killed=True)
    assert _judged(checks_highest_sequence_id, story) == said


def test_connection_given_up_at_once_while_another_producer_is_closed_is_as_good() -> None:
    story = _receipt(highest=7, after="close")
    story.closed(by=ClosedBy.CLIENT)
    assert _judged(checks_highest_sequence_id, story) == ([], 1)


def test_receipt_of_another_range_for_what_has_its_receipt_shows_nothing() -> None:
    story = Script()
    story.producer()
    for _ in range(2):
        story.send_frame(0, 1, 2, highest_sequence_id=2)
    story.receipt(0, highest_sequence_id=2)
    story.receipt(0, highest_sequence_id=7, fate=Fate.ALTERED)
    assert _judged(checks_highest_sequence_id, story) == ([], 0)


@pytest.mark.parametrize("sizes", [64, 0])
def test_receipt_of_another_range_for_what_has_timed_out_shows_nothing(sizes: int) -> None:
    """Of messages too small to be told apart as well."""
    story = Script()
    story.producer()
    small: dict[str, Any] = (
        {} if sizes else {"members": tuple(Member(size=0, digest=0, sequence_id=number) for number in (0, 1))}
    )
    for number in (0, 1):
        story.send(number, size=sizes)
    story.send_frame(0, 1, highest_sequence_id=1, **small)
    for number in (0, 1):
        story.unknown(number)
    story.receipt(0, highest_sequence_id=7, fate=Fate.ALTERED)
    assert _judged(checks_highest_sequence_id, story) == ([], 0)


def test_connection_that_the_application_ends_behind_it_is_no_answer() -> None:
    story = _receipt(highest=7)
    story.after(1_000).invoke("close", PRODUCER)
    story.closed(by=ClosedBy.CLIENT)
    assert _judged(checks_highest_sequence_id, story) == (["taken"], 1)


def test_receipt_behind_which_a_black_hole_swallows_the_connection_shows_nothing() -> None:
    story = _receipt(highest=7)
    story.add(Fired, fault=0, action="cut", conn=0)
    story.after(500).cut()
    assert _judged(checks_highest_sequence_id, story) == ([], 0)


def test_receipt_whose_connection_ends_as_it_comes_shows_nothing() -> None:
    story = _receipt(highest=7)
    story.cut()
    assert _judged(checks_highest_sequence_id, story) == ([], 0)


def test_receipt_of_the_same_range_shows_nothing() -> None:
    assert _judged(checks_highest_sequence_id, _receipt(highest=2, fate=Fate.PASSED)) == ([], 0)
