"""topics.follows-migration"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.checks.leaving import is_readable
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import ConsumerSession, ProducerSession
from assay_conformance.model.case import Who
from assay_conformance.model.event import (
    Closed,
    ClosedBy,
    Completion,
    Ended,
    Event,
    Fate,
    Fired,
    Frame,
    Invoke,
    Outcome,
)
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.topics._migrations import migrating_session
from assay_conformance.pulsar.checks.topics._shut_out import ShutOutCheck
from assay_conformance.pulsar.timeline.producers import FINAL_ERRORS

Key = tuple[str, int, str, int]
"""`producer` or `consumer`, its id, its topic, and the handle of its client: ids are unique within a client only."""


@dataclass(slots=True)
class _Migrated:
    """`handles`: the producer or consumer and its client, each of which the application may close."""

    frame: Frame
    broker: int
    handles: frozenset[int]


class FollowsMigration(TimedCheck, ShutOutCheck):
    """A producer or consumer that got TOPIC_MIGRATED next registers with the broker that the Case's step names.

    A registration that is refused there counts. A failed LOOKUP there excuses the client until its next attempt. A
    producer or consumer that is closed or was never opened, or a producer that got a final error before, does not have
    to register. A client that got a damaged frame, an error or an unexpected receipt may close the connection because
    of that, and may not have read TOPIC_MIGRATED; it is not judged then.
    """

    requirement = RequirementId("topics.follows-migration")
    needs = ((Frame, "TOPIC_MIGRATED"),)

    def start(self) -> None:
        self._migrated: dict[Key, _Migrated] = {}
        self._unopened: set[int] = set()
        """Handles whose open call failed."""
        self._ended_producers: set[tuple[int, int]] = set()
        """Connection and id of producers that got a final error, and will send no more."""
        self._target_broker = {
            str(step.args.get("topic")): int(step.args.get("broker", 0))
            for step in self.view.case.steps
            if step.who is Who.BROKER and step.verb == "migrate"
        }
        self._damaged: dict[int, Frame | Fired] = {}
        """Connection -> the first damaged frame on it, or the fault that injected bytes that are no command."""
        self._closed: Completion | None = None
        self._cut_ns = 0
        self._operation_ns = int(self.view.setting("client", "operation_timeout_ms") or 0) * MS

    @on(Frame)
    def frame_damaged(self, event: Frame) -> None:
        bad = event.fate is Fate.ALTERED or (event.command == "MESSAGE" and not is_readable(event))
        if bad and to_client(event):
            self._damaged.setdefault(event.conn, event)

    @on(Fired)
    def bytes_injected(self, event: Fired) -> None:
        if event.action == "inject" and event.conn is not None:
            self._damaged.setdefault(event.conn, event)

    @on(Frame, "TOPIC_MIGRATED")
    def topic_migrated(self, event: Frame) -> None:
        id = int(event.fields.get("resource_id", -1))
        kind = "producer" if event.fields.get("resource_type") == "Producer" else "consumer"
        session, opened = migrating_session(self.tracker, event), self.tracker.opened.get(event.conn)
        ended = kind == "producer" and (event.conn, id) in self._ended_producers
        if session is None or ended or not to_client(event) or session.topic not in self._target_broker:
            return
        broker = self._target_broker[session.topic]
        handles, client = self._handles(session), self._client_of(session)
        if (opened is None or opened.broker != broker) and handles.isdisjoint(self._unopened) and client is not None:
            self._migrated[kind, id, session.topic, client] = _Migrated(event, broker, handles)

    def _handles(self, session: ProducerSession | ConsumerSession) -> frozenset[int]:
        whose = session.line if isinstance(session, ProducerSession) else session.consumer
        client = None if whose is None else self.view.client_of(whose.handle)
        return frozenset(one.handle for one in (whose, client) if one is not None and one.handle is not None)

    def _client_of(self, session: ProducerSession | ConsumerSession) -> int | None:
        """None where it may belong to any of several clients."""
        clients = self.tracker.foresight.clients.keys()
        theirs = clients & self._handles(session) if len(clients) > 1 else clients
        return next(iter(theirs), None if clients else 0)

    @on(Completion, "open_producer", "open_consumer")
    def opened(self, event: Completion) -> None:
        if event.handle is not None and event.outcome is not Outcome.OK:
            self._unopened.add(event.handle)
            self._migrated = {key: one for key, one in self._migrated.items() if event.handle not in one.handles}

    @on(Invoke, "close")
    def closing(self, event: Invoke) -> None:
        for key in [key for key, one in self._migrated.items() if event.handle in one.handles]:
            self._ends(key, event)

    @on(Closed)
    def connection_closed(self, event: Closed) -> None:
        """A frame written just before a cut may not have arrived, and a cut gives the client its time to reconnect
        again."""
        unread = {key for key, one in self._migrated.items() if self._may_be_unread(one.frame, event)}
        if unread or event.by is not ClosedBy.CLIENT:
            self._cut_ns = event.t_ns
            self._migrated = {key: one for key, one in self._migrated.items() if key not in unread}

    @on(Frame, "SEND_ERROR")
    def send_refused(self, event: Frame) -> None:
        if event.to_receiver and event.fields.get("error") in FINAL_ERRORS:
            self._ended_producers.add((event.conn, event.producer_id or 0))

    @on(Frame, "LOOKUP_RESPONSE")
    def looked_up(self, event: Frame) -> None:
        """Extend the deadline by a back-off that doubles (no longer than all waits before it together). Where no answer
        comes, the client waits for the operation time-out first."""
        if event.to_receiver and not event.fields.get("error"):
            return
        ended_ns = event.t_ns + (0 if event.to_receiver else self._operation_ns)
        waits_until_ns = (2 * ended_ns - one.frame.t_ns for one in self._migrated.values())
        self._cut_ns = max(self._cut_ns, *waits_until_ns, 0)

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def registered(self, event: Frame) -> None:
        kind = "producer" if event.command == "PRODUCER" else "consumer"
        session = self.tracker.producer_of(event) if kind == "producer" else self.tracker.consumer_of(event)
        if session is None or not from_client(event):
            return
        id = session.producer_id if isinstance(session, ProducerSession) else session.consumer_id
        topic, client = session.topic, self._client_of(session)
        if client is None:
            self._migrated = {key: one for key, one in self._migrated.items() if key[:3] != (kind, id, topic)}
            return
        key = (kind, id, topic, client)
        migrated, opened = self._migrated.get(key), self.tracker.opened.get(event.conn)
        if migrated is None or opened is None or event.conn == migrated.frame.conn:
            return
        if opened.broker == migrated.broker:
            del self._migrated[key]
            self.exercise(event)
        else:
            self.breach(
                "stayed",
                f"{kind} id {id} got TOPIC_MIGRATED for topic {topic} at {ms(migrated.frame.t_ns)}; expected it to "
                f"register next with broker {migrated.broker} of the other cluster; it registered with broker "
                f"{opened.broker} at {ms(event.t_ns)}",
                migrated.frame,
                event,
            )

    def _may_be_unread(self, frame: Frame, closed: Closed) -> bool:
        if frame.conn != closed.conn or closed.by is not ClosedBy.CLIENT:
            return frame.conn == closed.conn
        soon = closed.t_ns - frame.t_ns <= TOLERANCES["answer"].slack_ns
        reasons = (self._damaged.get(frame.conn), self.tracker.may_be_left.get(frame.conn))
        return soon and any(reason is not None and reason.seq < frame.seq for reason in reasons)

    @on(Completion, "close")
    def client_closed(self, event: Completion) -> None:
        self._closed = self._closed or event

    @on(Ended)
    def case_ended(self, event: Ended) -> None:
        end = self._closed or event
        for key in list(self._migrated):
            self._ends(key, end)

    def _ends(self, key: Key, end: Event) -> None:
        (kind, id, topic, _), migrated = key, self._migrated.pop(key)
        refused = self.shut_out.get(topic)
        if refused is not None and refused.seq > migrated.frame.seq:
            return
        since_ns = max(migrated.frame.t_ns, self._cut_ns)
        if late("reconnect", since_ns, end.t_ns):
            self.overdue(
                "reconnect",
                since_ns,
                end.t_ns,
                "never-came",
                f"{kind} id {id} got TOPIC_MIGRATED for topic {topic} at {ms(migrated.frame.t_ns)}; expected it to "
                f"register with broker {migrated.broker} of the other cluster; it had not by {ms(end.t_ns)}",
                migrated.frame,
                end,
            )
