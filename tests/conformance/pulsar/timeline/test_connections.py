"""Who ended a connection, and whether the client had read what came before."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import Script
from assay_conformance.model.event import AgentEnded, ClosedBy, Frame
from assay_conformance.pulsar.timeline.connections import Why


class _Refused(Script):
    """A producer whose send is answered with an error, just before its connection ends."""

    def __init__(self) -> None:
        super().__init__()
        self.producer()
        self.send(0)
        self.send_frame(0)
        self.error: Frame = self.down("SEND_ERROR", producer_id=0, sequence_id=0)

    def killed(self) -> None:
        self.add(AgentEnded, reason="killed", exit_status=-9, killed=True)

    def was_read(self) -> bool:
        return asked(self, lambda timeline: timeline.was_read(self.error))

    def was_left(self) -> tuple[bool, bool]:
        connection = asked(self, lambda timeline: timeline.connection(0))
        return connection.left_by_client is not None, connection.lost is not None


@pytest.mark.parametrize("by", ClosedBy)
def test_connection_is_left_by_the_client_or_lost(by: ClosedBy) -> None:
    story = _Refused()
    story.closed(by=by)
    assert story.was_left() == (by is ClosedBy.CLIENT, by is not ClosedBy.CLIENT)


@pytest.mark.parametrize("ended_ms", [0, 400])
def test_connection_that_ends_with_its_process_is_lost_whichever_end_is_noticed_first(ended_ms: int) -> None:
    story = _Refused()
    story.closed()
    story.after(ended_ms)
    story.killed()
    assert story.was_left() == (False, True)


def test_connection_that_ended_long_before_its_process_was_left() -> None:
    story = _Refused()
    story.closed()
    story.after(3_000)
    story.killed()
    assert story.was_left() == (True, False)


def test_client_that_left_over_an_error_had_read_it() -> None:
    story = _Refused()
    story.closed()
    assert story.was_read()


def test_client_that_was_killed_may_not_have_read_what_came_just_before() -> None:
    story = _Refused()
    story.closed()
    story.killed()
    assert not story.was_read()


@pytest.mark.parametrize("answered", [True, False])
def test_challenge_without_an_answer_is_a_reason_to_leave(answered: bool) -> None:
    story = Script()
    story.producer()
    story.down("AUTH_CHALLENGE")
    if answered:
        story.up("AUTH_RESPONSE")
    story.closed(by=ClosedBy.CLIENT)
    reasons = asked(story, lambda timeline: [one.why for one in timeline.connection(0).reasons])
    assert (Why.UNANSWERED in reasons) is not answered
