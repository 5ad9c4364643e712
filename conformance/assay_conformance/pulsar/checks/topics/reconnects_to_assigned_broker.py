"""Reconnects to the broker that CLOSE_PRODUCER or CLOSE_CONSUMER names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.checks.routes import CAME
from assay_conformance.checks.tracker import ConsumerSession, ProducerSession
from assay_conformance.model.event import Closed, ClosedBy, Completion, Event, Fired, Frame, Invoke, Opened, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic, named_topics
from assay_conformance.wire.service_urls import named_brokers


@dataclass(slots=True)
class _Reassigned:
    """A producer or consumer that was closed with the address of the new owner."""

    close: Frame
    topic: str
    looked_up: Frame | None = None


_Owner = tuple[str, str, int | None]
"""Topic, `producer` or `consumer`, and its handle where that is known (each client chooses its own ids)."""


def _owner(session: ProducerSession | ConsumerSession) -> _Owner:
    if isinstance(session, ProducerSession):
        return session.topic, "producer", None if session.line is None else session.line.handle
    return session.topic, "consumer", None if session.consumer is None else session.consumer.handle


def _is_closing(session: ProducerSession | ConsumerSession) -> bool:
    """Whether the application closes it."""
    owner = session.line if isinstance(session, ProducerSession) else session.consumer
    return owner is not None and owner.closing is not None


class ReconnectsToAssignedBroker(TimedCheck):
    """A producer or consumer that was closed with the address of the new owner registers there at once and without a
    LOOKUP. Where that fails, a LOOKUP is allowed.

    Judged where nothing else of that topic had a reason for a LOOKUP: nothing was being opened, and no connection was
    lost or refused since. Nor may the client still hold a connection to that broker that was lost before: its attempt
    to use it fails without a frame.
    """

    requirement = RequirementId("topics.reconnects-to-assigned-broker")
    skips_plain = True

    def start(self) -> None:
        self._ends = BrokerEnds(self.view.case)
        self._reassigned: dict[_Owner, _Reassigned] = {}
        self._opening: set[int] = set()
        self._failed_topics: set[str] = set()
        """Topics whose open call failed: a client may keep some of their partitions."""
        self._conn_of: dict[_Owner, int] = {}
        """Connection on which each registered last."""
        self._requests: dict[tuple[int, int], _Owner] = {}
        self._needs_lookup: set[_Owner] = set()
        """Those that were given no broker, or were refused, and have not registered since."""
        self._admitted: dict[int, Frame] = {}
        """Connection -> its CONNECTED."""
        self._lost: Counter[str] = Counter()
        """Address -> how many connections to it were lost and not opened again."""

    @on(Invoke, "open_producer", "open_consumer")
    def open_called(self, event: Invoke) -> None:
        self._opening.add(event.op)

    @on(Completion, "open_producer", "open_consumer")
    def open_ended(self, event: Completion) -> None:
        self._opening.discard(event.op)
        operation = self.tracker.operations.get(event.op)
        if operation is not None and event.outcome is not Outcome.OK:
            self._failed_topics.update(named_topics(operation.invoke.args, str(operation.invoke.args.get("topic", ""))))

    @on(Frame, "CLOSE_PRODUCER", "CLOSE_CONSUMER")
    def closed(self, event: Frame) -> None:
        session = self.tracker.producer_of(event) or self.tracker.consumer_of(event)
        if session is not None and from_client(event) and not _is_closing(session):
            # Its registration was not answered: the client cancels it and starts over.
            self._needs_lookup.add(_owner(session))
        if session is None or not to_client(event):
            return
        owner = _owner(session)
        # One closed before its registration was answered may wait for that answer, and needs a LOOKUP after that.
        named = named_brokers(event.command, event.fields)
        unready = session.ready is None or owner[2] is None
        if unready or not named or any(self._lost[url] for url in named):
            self._needs_lookup.add(owner)
            self._reassigned = {key: one for key, one in self._reassigned.items() if one.topic != session.topic}
            return
        self._reassigned[owner] = _Reassigned(event, session.topic)

    @on(Frame, "CONNECTED", seen=CAME)
    def admitted(self, event: Frame) -> None:
        self._admitted[event.conn] = event

    @on(Opened)
    def connection_opened(self, event: Opened) -> None:
        self._lost[event.url] = max(self._lost[event.url] - 1, 0)

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        opened = self.tracker.opened.get(event.conn)
        if opened is not None and event.by is not ClosedBy.CLIENT:
            self._lost[opened.url] += 1
        self._needs_lookup.update(owner for owner, conn in self._conn_of.items() if conn == event.conn)
        self._lookups_allowed()

    @on(Fired)
    def disturbed(self, event: Fired) -> None:
        del event
        self._lookups_allowed()

    def _lookups_allowed(self) -> None:
        """Any of those under way may have failed to register with the new owner."""
        self._needs_lookup |= self._reassigned.keys()
        self._reassigned.clear()

    @on(Frame, "LOOKUP")
    def looked_up(self, event: Frame) -> None:
        topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
        if not from_client(event) or self._opening or base_topic(topic) in self._failed_topics:
            return
        if any(owner[0] == topic for owner in self._needs_lookup):
            return
        for one in self._reassigned.values():
            if one.topic == topic and one.looked_up is None:
                one.looked_up = event

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        owner = self._requests.pop((event.conn, event.request_id or 0), None)
        if owner is not None and to_client(event):
            self._needs_lookup.add(owner)

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def registers(self, event: Frame) -> None:
        session = self.tracker.producer_of(event) or self.tracker.consumer_of(event)
        if session is None or not from_client(event):
            return
        owner = topic, kind, handle = _owner(session)
        self._conn_of[owner] = event.conn
        self._requests[event.conn, event.request_id or 0] = owner
        if handle is not None:
            self._needs_lookup.discard(owner)
        reassigned = self._reassigned.pop(owner, None)
        if reassigned is None:
            return
        if reassigned.looked_up is None:
            self.exercise(event)
            self._judge_delay(reassigned, owner, event)
            return
        self.breach(
            "asked-first",
            f"the broker closed {kind} {handle} at {ms(reassigned.close.t_ns)} and named the new owner of topic "
            f"{topic}; expected it to register there without a LOOKUP; it wrote one at "
            f"{ms(reassigned.looked_up.t_ns)}, before it registered at {ms(event.t_ns)}",
            reassigned.close,
            reassigned.looked_up,
            event,
        )

    def _judge_delay(self, reassigned: _Reassigned, owner: _Owner, event: Frame) -> None:
        """The time that the new owner takes to answer does not count."""
        if self._ends.possible:
            return
        opened, admitted = self.tracker.opened.get(event.conn), self._admitted.get(event.conn)
        since: list[Event] = [reassigned.close]
        until: list[Event] = [event]
        if opened is not None and admitted is not None and opened.t_ns > reassigned.close.t_ns:
            since, until = [reassigned.close, admitted], [opened, event]
        elif admitted is not None and admitted.t_ns > reassigned.close.t_ns:
            since = [admitted]
        _, kind, handle = owner
        for before, after in zip(since, until, strict=True):
            if late("redirect", before.t_ns, after.t_ns):
                self.overdue(
                    "redirect",
                    before.t_ns,
                    after.t_ns,
                    "paused",
                    f"the broker closed {kind} {handle} at {ms(reassigned.close.t_ns)} and named the new owner of "
                    f"topic {reassigned.topic}; it registered there at {ms(event.t_ns)}; expected no delay of its own, "
                    f"and from {ms(before.t_ns)} to {ms(after.t_ns)} it sent nothing towards that",
                    reassigned.close,
                    event,
                )
                return
