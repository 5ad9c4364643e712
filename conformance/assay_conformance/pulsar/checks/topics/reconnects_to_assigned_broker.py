"""The shortest way to a topic that moved: whoever is told which broker has it goes there."""

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
class _SentAway:
    """A producer or consumer that was told where its topic went."""

    close: Frame
    topic: str
    looked_up: Frame | None = None


_Who = tuple[str, str, int | None]
"""Topic, `producer` or `consumer`, and its handle where that is known: ids are chosen by each client for itself."""


def _who(session: ProducerSession | ConsumerSession) -> _Who:
    if isinstance(session, ProducerSession):
        return session.topic, "producer", None if session.line is None else session.line.handle
    return session.topic, "consumer", None if session.consumer is None else session.consumer.handle


def _is_closing(session: ProducerSession | ConsumerSession) -> bool:
    """Whether the application closes it."""
    owner = session.line if isinstance(session, ProducerSession) else session.consumer
    return owner is not None and owner.closing is not None


class ReconnectsToAssignedBroker(TimedCheck):
    """Who is told where its topic went goes there without asking, once, and at once; when that failed, it may ask.

    Judged where nobody else of that topic had a reason to ask: nothing was being opened, and no connection was lost or
    refused since. Nor does the client still hold one to that broker which was lost before, as far as anybody knows: it
    fails over that, unseen.
    """

    requirement = RequirementId("topics.reconnects-to-assigned-broker")
    skips_plain = True

    def start(self) -> None:
        self._ends = BrokerEnds(self.view.case)
        self._away: dict[_Who, _SentAway] = {}
        self._opening: set[int] = set()
        self._given_up: set[str] = set()
        """Topics that could not be opened: a client may go on with some of their partitions."""
        self._where: dict[_Who, int] = {}
        """On which connection each was admitted last."""
        self._requests: dict[tuple[int, int], _Who] = {}
        self._asking: set[_Who] = set()
        """Who has to ask, since nobody told it a broker, or it was refused, and is not back yet."""
        self._admitted: dict[int, Frame] = {}
        """Connection -> its CONNECTED."""
        self._lost: Counter[str] = Counter()
        """Address -> how many connections to it were lost and none opened for since."""

    @on(Invoke, "open_producer", "open_consumer")
    def open_called(self, event: Invoke) -> None:
        self._opening.add(event.op)

    @on(Completion, "open_producer", "open_consumer")
    def open_ended(self, event: Completion) -> None:
        self._opening.discard(event.op)
        operation = self.tracker.operations.get(event.op)
        if operation is not None and event.outcome is not Outcome.OK:
            self._given_up.update(named_topics(operation.invoke.args, str(operation.invoke.args.get("topic", ""))))

    @on(Frame, "CLOSE_PRODUCER", "CLOSE_CONSUMER")
    def sent_away(self, event: Frame) -> None:
        session = self.tracker.producer_of(event) or self.tracker.consumer_of(event)
        if session is not None and from_client(event) and not _is_closing(session):
            # It had no answer to its registration, gives that up, and begins anew.
            self._asking.add(_who(session))
        if session is None or not to_client(event):
            return
        who = _who(session)
        # Who is sent away ahead of the answer to its registration may wait for that, and has to ask when it is over.
        named = named_brokers(event.command, event.fields)
        unready = session.ready is None or who[2] is None
        if unready or not named or any(self._lost[url] for url in named):
            self._asking.add(who)
            self._away = {key: away for key, away in self._away.items() if away.topic != session.topic}
            return
        self._away[who] = _SentAway(event, session.topic)

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
        self._asking.update(who for who, conn in self._where.items() if conn == event.conn)
        self._may_ask()

    @on(Fired)
    def disturbed(self, event: Fired) -> None:
        del event
        self._may_ask()

    def _may_ask(self) -> None:
        """Whoever is on the way: it may not have been let in where it was told to go."""
        self._asking |= self._away.keys()
        self._away.clear()

    @on(Frame, "LOOKUP")
    def looked_up(self, event: Frame) -> None:
        topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
        if not from_client(event) or self._opening or base_topic(topic) in self._given_up:
            return
        if any(who[0] == topic for who in self._asking):
            return
        for away in self._away.values():
            if away.topic == topic and away.looked_up is None:
                away.looked_up = event

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        who = self._requests.pop((event.conn, event.request_id or 0), None)
        if who is not None and to_client(event):
            self._asking.add(who)

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def back(self, event: Frame) -> None:
        session = self.tracker.producer_of(event) or self.tracker.consumer_of(event)
        if session is None or not from_client(event):
            return
        who = topic, kind, handle = _who(session)
        self._where[who] = event.conn
        self._requests[event.conn, event.request_id or 0] = who
        if handle is not None:
            self._asking.discard(who)
        away = self._away.pop(who, None)
        if away is None:
            return
        if away.looked_up is None:
            self.exercise(event)
            self._goes(away, who, event)
            return
        self.breach(
            "asked-first",
            f"{kind} {handle} was told at {ms(away.close.t_ns)} which broker topic {topic} went to; a LOOKUP left at "
            f"{ms(away.looked_up.t_ns)}, before it registered at {ms(event.t_ns)}",
            away.close,
            away.looked_up,
            event,
        )

    def _goes(self, away: _SentAway, who: _Who, event: Frame) -> None:
        """What the other broker takes to answer is none of the client's time."""
        if self._ends.possible:
            return
        opened, admitted = self.tracker.opened.get(event.conn), self._admitted.get(event.conn)
        since: list[Event] = [away.close]
        until: list[Event] = [event]
        if opened is not None and admitted is not None and opened.t_ns > away.close.t_ns:
            since, until = [away.close, admitted], [opened, event]
        elif admitted is not None and admitted.t_ns > away.close.t_ns:
            since = [admitted]
        _, kind, handle = who
        for before, after in zip(since, until, strict=True):
            if late("redirect", before.t_ns, after.t_ns):
                self.overdue(
                    "redirect",
                    before.t_ns,
                    after.t_ns,
                    "paused",
                    f"{kind} {handle} was told at {ms(away.close.t_ns)} which broker topic {away.topic} went to, and "
                    f"registered there at {ms(event.t_ns)}; from {ms(before.t_ns)} to {ms(after.t_ns)} it did nothing "
                    "about it",
                    away.close,
                    event,
                )
                return
