"""Acknowledgments that wait for the broker's answer: what ends them, and what must not.

Judged are calls whose messages are whole entries of one connection, of a consumer that asks for receipts: a member of a
batch may be kept until the others of its entry are acknowledged, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import in_force, of_batch
from assay_conformance.model.event import Completion, Event, Frame, Outcome
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.connection._versions import RECEIPTS_SINCE
from assay_conformance.pulsar.timeline import Call, ConsumerSession, Timeline


class AckRequest(NamedTuple):
    """An ACK that asks for an answer, and what became of it by a moment: the answer, or the end of its session."""

    frame: Frame
    session: ConsumerSession
    answer: Frame | None
    lost: Event | None

    @property
    def refused(self) -> bool:
        """The answer is an error."""
        return self.answer is not None and self.answer.fields.get("error") is not None


class EndedAck(NamedTuple):
    """An ack of messages that are judged, and how it ended."""

    calls: list[Call]
    end: Completion


def ended(timeline: Timeline, *, well: bool) -> Iterator[EndedAck]:
    """Yield acks of consumers that ask for receipts, by whether they ended with `ok`."""
    for end in timeline.ends("ack"):
        named = timeline.calls_of(end)
        calls = [call for call in named if base_topic(call.entry.topic) not in timeline.non_persistent]
        if not calls or (end.outcome is Outcome.OK) is not well or not waits(timeline, calls[0]):
            continue
        # An ACK may be another consumer's.
        unsure = any(call.entry.topic in call.consumer.unsure for call in calls)
        if unsure or any(of_batch(call.message.message_id) for call in calls):
            continue
        # What came by way of a retry letter topic was acknowledged there, on a consumer that no step opened.
        own = [call for call in calls if any(one.topic == call.entry.topic for one in call.consumer.sessions)]
        if own and (well or own == calls):
            yield EndedAck(own, end)


def waits(timeline: Timeline, call: Call) -> bool:
    """Return whether its consumer asks for receipts."""
    return bool(in_force(timeline.view, call.consumer, "ack_receipt"))


def asked_for(timeline: Timeline, call: Call, at: Event | None = None) -> list[AckRequest]:
    """Return the ACKs that covered the entry of a call by a moment, or ever, in order."""
    sessions = (session for session in call.consumer.sessions if session.topic == call.entry.topic)
    covering = ((one, frame) for one in sessions for frame in timeline.written_acks(one).covering(call.entry))
    return [
        _asked(timeline, session, frame, at)
        for session, frame in covering
        if frame.request_id is not None and (at is None or frame.seq < at.seq)
    ]


def _asked(timeline: Timeline, session: ConsumerSession, frame: Frame, at: Event | None) -> AckRequest:
    """Return an ACK with its answer, if there is one.

    The broker forgets a consumer that has ended: an answer that has not come will not.
    """
    answer, ended = timeline.ack_response(frame), session.ended
    answer = answer if answer is not None and (at is None or answer.seq <= at.seq) else None
    if answer is not None and (ended is None or answer.seq < ended.seq):
        return AckRequest(frame, session, answer, None)
    return AckRequest(
        frame, session, answer, ended if ended is not None and (at is None or ended.seq <= at.seq) else None
    )


def is_answered(timeline: Timeline, call: Call, at: Event) -> bool:
    """Return whether the broker to which its consumer is attached answers acknowledgments."""
    version = agreed_for(timeline, call, at)
    return version is not None and version >= RECEIPTS_SINCE


def agreed_for(timeline: Timeline, call: Call, at: Event) -> int | None:
    """Return the version of the connection that its consumer is on."""
    session = timeline.session_at(call.consumer, call.entry.topic, at)
    return None if session is None else timeline.agreed_version(session.conn, at)
