"""Unreadable messages: what answers them, and what was left of the permits of their sessions."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.robustness._histories import Story
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Timeline
from assay_conformance.pulsar.timeline.unreadable import UnreadableMessages, Usage


def _error(frame: Frame) -> str | None:
    return "ChecksumMismatch" if frame.intact is False else None


def _usages(timeline: Timeline) -> list[tuple[int, int]]:
    """Came and left the queue, at each end of a session."""
    usages: list[Usage] = [ending.usage for ending in UnreadableMessages(timeline, _error).endings]
    return [(usage.came, usage.left_queue) for usage in usages]


def _answers(timeline: Timeline) -> list[int | None]:
    """Numbers of the ACKs that answer them."""
    messages = UnreadableMessages(timeline, _error).messages
    return [None if one.answer is None else one.answer.seq for one in messages]


def test_the_first_ack_of_its_entry_answers_it() -> None:
    story = Story()
    story.damaged(0)
    story.ack_frame(1)
    first = story.ack_frame(0)
    story.reported(0)
    assert asked(story, _answers) == [first.seq]


def test_an_ack_of_a_copy_that_can_be_read_does_not() -> None:
    story = Story()
    story.damaged(0)
    story.message(0)
    story.ack_frame(0)
    assert asked(story, _answers) == [None]


def test_an_ack_behind_a_seek_does_not() -> None:
    story = Story()
    story.damaged(0)
    story.up("SEEK", consumer_id=0, request_id=50)
    story.reported(0)
    assert asked(story, _answers) == [None]


def test_one_that_is_reported_leaves_the_queue_and_one_that_is_kept_does_not() -> None:
    story = Story()
    story.damaged(0)
    story.reported(0)
    story.damaged(1)
    assert asked(story, _usages) == [(2, 1)]


@pytest.mark.parametrize(("epoch", "ended"), [(0, 0), (1, 1), (None, 1)])
@pytest.mark.parametrize("crosses", [True, False])
def test_one_of_an_earlier_epoch_than_its_client_asked_for_has_no_ending(
    epoch: int | None, ended: int, crosses: bool
) -> None:
    story = Story()
    if not crosses:
        story.redeliver_frame(fields={"consumer_epoch": 1})
    story.damaged(0, fields={} if epoch is None else {"consumer_epoch": epoch})
    if crosses:
        story.redeliver_frame(fields={"consumer_epoch": 1})
    assert len(asked(story, _usages)) == ended


def test_sessions_over_which_all_could_be_read_have_no_ending() -> None:
    story = Story()
    story.message(0)
    story.close_consumer()
    assert asked(story, _usages) == []
