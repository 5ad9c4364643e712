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
from assay_conformance.pulsar.checks.topics._migrations import who_migrates
from assay_conformance.pulsar.checks.topics._shut_out import ShutOutCheck
from assay_conformance.pulsar.timeline.producers import FINAL_ERRORS

Key = tuple[str, int, str, int]
"""producer or consumer, its id, its topic, and the handle of its client: each counts its own."""


@dataclass(slots=True)
class _Migrated:
    """`handles` are those that end with a close of its own: the producer's or consumer's, and its client's."""

    told: Frame
    broker: int
    handles: frozenset[int]


class FollowsMigration(TimedCheck, ShutOutCheck):
    """Who was told that its topic went to another cluster registers there next; where that is, the Case's step says.
    Whoever is refused there has come, whoever could not look the topic up there waits to ask again, and who is closed
    or was never opened need not come, nor need a producer that was told the end before. A client that was sent what is
    spoilt, an error, or a receipt out of its turn may leave over that, and nobody can tell whether it read on as far as
    to what it was told."""

    requirement = RequirementId("topics.follows-migration")
    needs = ((Frame, "TOPIC_MIGRATED"),)

    def start(self) -> None:
        self._migrated: dict[Key, _Migrated] = {}
        self._unopened: set[int] = set()
        """Handles whose opening did not end well."""
        self._over: set[tuple[int, int]] = set()
        """Connection and id of producers that will send no more."""
        self._to = {
            str(step.args.get("topic")): int(step.args.get("broker", 0))
            for step in self.view.case.steps
            if step.who is Who.BROKER and step.verb == "migrate"
        }
        self._spoilt: dict[int, Frame | Fired] = {}
        """Connection -> the first frame on it that was spoilt, or what put one there that is not even a command."""
        self._closed: Completion | None = None
        self._cut_ns = 0
        self._operation_ns = int(self.view.setting("client", "operation_timeout_ms") or 0) * MS

    @on(Frame)
    def came(self, event: Frame) -> None:
        bad = event.fate is Fate.ALTERED or (event.command == "MESSAGE" and not is_readable(event))
        if bad and to_client(event):
            self._spoilt.setdefault(event.conn, event)

    @on(Fired)
    def made_up(self, event: Fired) -> None:
        if event.action == "inject" and event.conn is not None:
            self._spoilt.setdefault(event.conn, event)

    @on(Frame, "TOPIC_MIGRATED")
    def told(self, event: Frame) -> None:
        id = int(event.fields.get("resource_id", -1))
        kind = "producer" if event.fields.get("resource_type") == "Producer" else "consumer"
        session, opened = who_migrates(self.tracker, event), self.tracker.opened.get(event.conn)
        over = kind == "producer" and (event.conn, id) in self._over
        if session is None or over or not to_client(event) or session.topic not in self._to:
            return
        broker = self._to[session.topic]
        handles, client = self._handles(session), self._client_of(session)
        if (opened is None or opened.broker != broker) and handles.isdisjoint(self._unopened) and client is not None:
            self._migrated[kind, id, session.topic, client] = _Migrated(event, broker, handles)

    def _handles(self, session: ProducerSession | ConsumerSession) -> frozenset[int]:
        whose = session.line if isinstance(session, ProducerSession) else session.consumer
        client = None if whose is None else self.view.client_of(whose.handle)
        return frozenset(one.handle for one in (whose, client) if one is not None and one.handle is not None)

    def _client_of(self, session: ProducerSession | ConsumerSession) -> int | None:
        """None where it may be any of several."""
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
    def cut(self, event: Closed) -> None:
        """What was written around a cut may never have come, and who was cut off has its time to come."""
        unread = {key for key, one in self._migrated.items() if self._may_be_unread(one.told, event)}
        if unread or event.by is not ClosedBy.CLIENT:
            self._cut_ns = event.t_ns
            self._migrated = {key: one for key, one in self._migrated.items() if key not in unread}

    @on(Frame, "SEND_ERROR")
    def send_refused(self, event: Frame) -> None:
        if event.to_receiver and event.fields.get("error") in FINAL_ERRORS:
            self._over.add((event.conn, event.producer_id or 0))

    @on(Frame, "LOOKUP_RESPONSE")
    def looked_up(self, event: Frame) -> None:
        """A wait that doubles is no longer than all those before it together; an answer that does not come is waited
        for as long as an operation may take."""
        if event.to_receiver and not event.fields.get("error"):
            return
        ended_ns = event.t_ns + (0 if event.to_receiver else self._operation_ns)
        waits_until_ns = (2 * ended_ns - one.told.t_ns for one in self._migrated.values())
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
        if migrated is None or opened is None or event.conn == migrated.told.conn:
            return
        if opened.broker == migrated.broker:
            del self._migrated[key]
            self.exercise(event)
        else:
            self.breach(
                "stayed",
                f"{kind} id {id} was told at {ms(migrated.told.t_ns)} that topic {topic} went to the cluster of broker "
                f"{migrated.broker}; it registered with broker {opened.broker} at {ms(event.t_ns)}",
                migrated.told,
                event,
            )

    def _may_be_unread(self, told: Frame, closed: Closed) -> bool:
        if told.conn != closed.conn or closed.by is not ClosedBy.CLIENT:
            return told.conn == closed.conn
        soon = closed.t_ns - told.t_ns <= TOLERANCES["answer"].slack_ns
        reasons = (self._spoilt.get(told.conn), self.tracker.may_be_left.get(told.conn))
        return soon and any(reason is not None and reason.seq < told.seq for reason in reasons)

    @on(Completion, "close")
    def closes(self, event: Completion) -> None:
        self._closed = self._closed or event

    @on(Ended)
    def over(self, event: Ended) -> None:
        end = self._closed or event
        for key in list(self._migrated):
            self._ends(key, end)

    def _ends(self, key: Key, end: Event) -> None:
        (kind, id, topic, _), migrated = key, self._migrated.pop(key)
        refused = self.shut_out.get(topic)
        if refused is not None and refused.seq > migrated.told.seq:
            return
        since_ns = max(migrated.told.t_ns, self._cut_ns)
        if late("reconnect", since_ns, end.t_ns):
            self.overdue(
                "reconnect",
                since_ns,
                end.t_ns,
                "never-came",
                f"{kind} id {id} was told at {ms(migrated.told.t_ns)} that topic {topic} went to the cluster of "
                f"broker {migrated.broker}, and had not registered there by {ms(end.t_ns)}",
                migrated.told,
                end,
            )
