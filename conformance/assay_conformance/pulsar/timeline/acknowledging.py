"""The timeline's relations about acknowledgments: calls, the ACKs that clients wrote, and what brokers answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from assay_conformance.checks.base import View
from assay_conformance.checks.tracker import Call
from assay_conformance.history.events import first_of
from assay_conformance.judging.tolerance import MS, TOLERANCES
from assay_conformance.model.event import AgentEnded, Closed, Event, Frame, Invoke, Overdue
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.acks import AckCall, WrittenAcks, ack_calls
from assay_conformance.pulsar.timeline.batch_entries import BatchEntry, batch_entries
from assay_conformance.pulsar.timeline.consumers import Consumer, ConsumerSession, Entry
from assay_conformance.pulsar.timeline.limiting import Limiting
from assay_conformance.pulsar.timeline.requests import Answers


class Acknowledging(Limiting):
    """The part of a timeline about acknowledgments."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._written_acks: dict[tuple[int, bool], WrittenAcks] = {}
        self._batch_entries: dict[int, dict[Entry, BatchEntry]] = {}

    @cached_property
    def ack_calls(self) -> list[AckCall]:
        """Every message of a persistent topic that the application asked to acknowledge, in order."""
        asked = ack_calls(self._tracker.calls.values())
        return [ack for ack in asked if base_topic(ack.entry.topic) not in self.non_persistent]

    @cached_property
    def non_persistent(self) -> frozenset[str]:
        """Topics and single partitions that store nothing: messages have no lasting ids there, and ACKs have no effect,
        so clients need not send any (Java client, NonPersistentAcknowledgmentGroupingTracker)."""
        return frozenset(topic.name for topic in self.view.case.topology.topics if not topic.persistent)

    def written_acks(self, session: ConsumerSession, *, reports: bool = False) -> WrittenAcks:
        """Return the ACKs that the client wrote on a session. `reports`: also those that report a damaged message."""
        found = self._written_acks.get((id(session), reports))
        if found is None:
            found = WrittenAcks(self.consumer_sessions, session, reports=reports)
            self._written_acks[id(session), reports] = found
        return found

    def batch_entries(self, consumer: Consumer) -> dict[Entry, BatchEntry]:
        """Return the batches of a consumer in the order in which they came first."""
        found = self._batch_entries.get(consumer.handle)
        if found is None:
            seeks = self.events.invokes_of(consumer.handle, "seek")
            found = batch_entries(self.moments(consumer), consumer, seeks)
            self._batch_entries[consumer.handle] = found
        return found

    def ack_interval_ns(self, consumer: Consumer) -> int | None:
        """Return how long a consumer may collect acknowledgments; None where that is not known."""
        interval_ms = self.setting(consumer, "ack_group_ms")
        return None if interval_ms is None else interval_ms * MS

    def is_ack_overdue(self, consumer: Consumer, since_ns: int, seen_ns: int, *, within_ns: int = 0) -> bool:
        """Return whether an ACK came, or was still missing, too late at `seen_ns`.

        It was due a group interval and `within_ns` after `since_ns`; if the interval is not known, it is not overdue.
        Raises as `Bounds.is_overdue` does.
        """
        interval_ns = self.ack_interval_ns(consumer)
        due_ns = since_ns + within_ns + (interval_ns or 0)
        is_known = interval_ns is not None
        return is_known and self.bounds.is_overdue("ack-flush", since_ns, seen_ns, due_ns=due_ns, what="an ACK")

    def is_ack_missing(self, consumer: Consumer, since_ns: int, end: Event, *, within_ns: int = 0) -> bool:
        """Return whether an ACK is overdue that had not come when something ended other than by a loss. Load of the
        machine long after it was due does not count.
        """
        due_ns = since_ns + within_ns + (self.ack_interval_ns(consumer) or 0)
        seen_ns = min(end.t_ns, due_ns + 2 * TOLERANCES["ack-flush"].slack_ns)
        goes_on = not isinstance(end, Closed | AgentEnded)
        return goes_on and self.is_ack_overdue(consumer, since_ns, seen_ns, within_ns=within_ns)

    def over_after(self, session: ConsumerSession, consumer: Consumer, event: Event) -> Event:
        """Return what ended first after an event: the session, or its consumer by a call of the application."""
        closing, over = consumer.closing, self.consumer_sessions.end_after(session, event)
        closes = closing if isinstance(closing, Invoke) and closing.seq > event.seq else None
        return first_of(closes, over) or self.ended

    def agreed_version(self, conn: int, at: Event) -> int | None:
        """Return the protocol version that both sides had agreed on for a connection by an event; None before that."""
        found = self.handshakes.on(conn)
        return found.version if found is not None and found.is_before(at) else None

    def ack_response(self, ack: Frame) -> Frame | None:
        """Return the first ACK_RESPONSE to an ACK that was written to its client."""
        return self._ack_responses.to(ack)

    @cached_property
    def _ack_responses(self) -> Answers:
        return Answers(self.events.frames("ACK_RESPONSE"))

    def calls_together(self, verb: str) -> Iterator[Sequence[Call]]:
        """Yield the messages that each ack or nack names, where it names one of its own consumer."""
        return (calls for calls in self._tracker.calls.values() if calls and calls[0].invoke.verb == verb)

    def overdue(self, verb: str) -> Iterator[tuple[Sequence[Call], Overdue]]:
        """Yield acks or nacks that had not ended in their time, nor ever."""
        for operation in self._tracker.operations.values():
            if operation.invoke.verb == verb and operation.completion is None and operation.overdue is not None:
                yield self._tracker.calls.get(operation.invoke.op, ()), operation.overdue
