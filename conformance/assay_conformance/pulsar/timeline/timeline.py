"""The relations of one attempt, each derived when it is first asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import takewhile
from typing import Any, Final, TypeVar

from assay_conformance.checks.base import View
from assay_conformance.checks.leaving import LEAVING, may_have_heard_nothing
from assay_conformance.history.events import after, first_of, grouped
from assay_conformance.history.occupancy import left_unused
from assay_conformance.judging.certainty import TooBusyError, UnknownError
from assay_conformance.ledger.from_history.evidence import HistoryJudged
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    Completion,
    ErrorClass,
    Event,
    Fate,
    Frame,
    Identity,
    Invoke,
    Outcome,
    Stored,
)
from assay_conformance.pulsar.timeline.acknowledging import Acknowledging
from assay_conformance.pulsar.timeline.answers import Answer, answers
from assay_conformance.pulsar.timeline.connections import Connection, Why, connections
from assay_conformance.pulsar.timeline.consumers import Consumer
from assay_conformance.pulsar.timeline.in_flight import Leaving, leaving
from assay_conformance.pulsar.timeline.letters import Letters
from assay_conformance.pulsar.timeline.producers import (
    FINAL_ERRORS,
    Parting,
    Producer,
    ProducerSession,
    Resent,
    Send,
    Unit,
)
from assay_conformance.pulsar.timeline.producing import UNSURE, Producing
from assay_conformance.pulsar.timeline.requests import REQUESTS, Registration, Request, registrations, requests
from assay_conformance.pulsar.timeline.rows import judged_rows
from assay_conformance.pulsar.timeline.sends import IN_FLIGHT_NS
from assay_conformance.pulsar.timeline.setbacks import Setback, setbacks

T = TypeVar("T")

_CERTAIN: Final = (Outcome.OK, Outcome.FAIL)


class Timeline(Producing, Acknowledging):
    """What an attempt was. Made when its events have been seen; asked by checks, which it knows nothing of."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._requests: dict[tuple[str, ...], list[Request]] = {}
        self._derived: dict[Callable[[Timeline], Any], Any] = {}

    def once(self, relation: Callable[[Timeline], T]) -> T:
        """Return what a relation of one chapter alone says of this timeline; it is derived once."""
        if relation not in self._derived:
            self._derived[relation] = relation(self)
        return self._derived[relation]  # type: ignore[no-any-return]

    def let_go(self) -> None:
        """Forget what `once` derived: a relation may hold the timeline, which would keep the whole attempt until a
        collection of garbage, and that has to walk through every event."""
        self._derived.clear()

    def loads(self, topic: str, before: Event) -> int:
        """Return how often a topic, or the topic of a partition, had been loaded again."""
        return sum(event.seq < before.seq for event in self.reloads(topic))

    @property
    def has_loaded(self) -> bool:
        """Whether any topic may have been loaded again."""
        return any(self.reloads(topic.name) for topic in self.view.case.topology.topics)

    def can(self, capability: str) -> bool:
        """Return whether the client declares it."""
        return capability in self.view.facts.capabilities

    @cached_property
    def rows(self) -> HistoryJudged:
        """The history as rows of a ledger, judged by the same rules as any."""
        return judged_rows(self.view)

    # --- connections ---

    @cached_property
    def connections(self) -> dict[int, Connection]:
        """By number."""
        return connections(self.view, self.events, self.answers, self.bounds, self._timed_out())

    def _timed_out(self) -> Iterator[tuple[int, Event]]:
        """Yield by connection the sends that timed out there, and the requests that nothing answered in time.

        A request has as long as an operation may take, and its connection has ended since.
        """
        for end in self.failed_sends:
            unit = self.unit_of(end) if end.error is ErrorClass.TIMEOUT else None
            sent = [frame for _, frame in unit.sends if frame.seq < end.seq] if unit is not None else []
            yield from ((frame.conn, end) for frame in sent[-1:])
        limit_ns = self.operation_timeout_ns()
        for request in self.requests(*REQUESTS) if limit_ns and self.events.of(Closed) else ():
            frame, answer, closed = request.frame, request.answer, self.closed(request.frame.conn)
            until = closed if answer is None else answer
            if closed is not None and until is not None and frame.t_ns + limit_ns <= until.t_ns:
                yield frame.conn, frame

    def connection(self, number: int) -> Connection:
        """Return a connection, of which the history need not show the beginning."""
        return self.connections.get(number) or Connection(number)

    def closed(self, number: int) -> Closed | None:
        """Return how a connection ended."""
        return self._tracker.closed.get(number)

    @cached_property
    def left_unused(self) -> frozenset[int]:
        """Connections that the client ended when they carried nothing."""
        return frozenset(closed.conn for closed in left_unused(self._tracker.history))

    @cached_property
    def interruptions(self) -> Sequence[Closed]:
        """Ends of all other connections: of those on which something was registered, or waited for."""
        return [closed for closed in self.events.of(Closed) if closed.conn not in self.left_unused]

    def has_another_reason(self, frame: Frame, producer: Producer, *besides: Why) -> bool:
        """Return whether the end of this frame's connection proves nothing.

        Something other than the client ended it soon, or the client did, and may have done so over something that is
        not `besides`.
        """
        if self.bounds.ended_soon_after(frame, self.connection(frame.conn).lost):
            return True
        left = self._left_after(frame, producer)
        reasons = self.connection(frame.conn).reasons_but(*besides) if left is not None else ()
        return left is not None and any(reason.event.seq < left.seq for reason in reasons)

    def left_over(self, frame: Frame, producer: Producer) -> Closed | None:
        """Return the end of the frame's connection where the client ended it soon, with the producer not closed.

        Raises `TooBusyError` where the machine may have made the client think that its peer was gone.
        """
        left = self._left_after(frame, producer)
        return left if left is None else self._heard(left)

    def left_over_messages(self, last: Frame, alike: Iterable[Event], *, or_died: bool = False) -> Closed | None:
        """Return the end of a connection as `left_without_reason`, where that was soon behind the frame `last`.

        `or_died`: the process may have ended with it.
        """
        is_soon = self.bounds.ended_soon_after(last, self.connection(last.conn).closed)
        return self.left_without_reason(last.conn, alike, or_died=or_died) if is_soon else None

    def left_without_reason(self, conn: int, alike: Iterable[Event] = (), *, or_died: bool = False) -> Closed | None:
        """Return the end of a connection that the client ended for no reason beside the frames (or faults) `alike`.

        The application had not begun to end what it has; a message that it acknowledged is no reason. Raises
        `TooBusyError` where the machine may have made the client think that its peer was gone.
        """
        connection, passed_over = self.connection(conn), {event.seq for event in alike}
        left = connection.ended_by_client if or_died else connection.left_by_client
        if left is None or conn in self.left_unused or self.has_begun_to_end(left.seq):
            return None
        reasons = (reason.event for reason in connection.reasons_but() if reason.event.seq < left.seq)
        if any(event.seq not in passed_over and not self._is_acknowledged(event, left) for event in reasons):
            return None
        return self._heard(left)

    def _is_acknowledged(self, message: Event, before: Event) -> bool:
        """Return whether this is a MESSAGE that the client took, or reported, on its connection, and went on."""
        if not isinstance(message, Frame) or message.command != "MESSAGE" or not message.ids:
            return False
        session, (id, *_) = self.consumer_sessions.of(message), message.ids
        acks = [] if session is None else self.consumer_sessions.frames(session, "ACK")
        written = (ack for ack in acks if ack.from_sender and message.seq < ack.seq < before.seq)
        return any(id.position == named.position for ack in written for named in ack.ids)

    def _heard(self, left: Closed) -> Closed:
        if may_have_heard_nothing(self.view, left):
            raise TooBusyError(f"the machine was too busy to say why connection {left.conn} was left")
        return left

    def _left_after(self, frame: Frame, producer: Producer) -> Closed | None:
        left = self.connection(frame.conn).left_by_client
        if left is None or producer.closing_before(left.seq):
            return None
        return left if self.bounds.ended_soon_after(frame, left) else None

    def was_read(self, frame: Frame) -> bool:
        """Return whether the client certainly read what was written to it on a connection that then ended.

        It had time to, or it ended the connection itself, and had no other reason to.
        """
        connection, closed = self.connection(frame.conn), self.closed(frame.conn)
        if closed is None or closed.t_ns - frame.t_ns > IN_FLIGHT_NS:
            return True
        return connection.left_by_client is not None and not connection.may_be_left_before(frame)

    def has_had_trouble(self, receipt: Frame, *kinds: Why) -> bool:
        """Return whether something of these kinds, or a receipt held back or repeated by a fault, came before."""
        first_moved = self._first_moved_receipt.get(receipt.conn, receipt)
        return first_moved.seq < receipt.seq or self.connection(receipt.conn).has_seen(receipt, *kinds)

    @cached_property
    def _first_moved_receipt(self) -> dict[int, Frame]:
        """Connection -> the first receipt that came to the client as a fault made it come."""
        receipts = reversed(self.events.frames("SEND_RECEIPT"))
        return {one.conn: one for one in receipts if one.to_receiver and one.fate is not Fate.PASSED}

    def has_begun_to_end(self, seq: int) -> bool:
        """Return whether the application had begun to end what it has, ahead of event `seq`."""
        return any(call.seq < seq for call in self.leavings)

    @cached_property
    def leavings(self) -> list[Invoke]:
        """The first call of each verb by which the application ends what it has."""
        return [call for verb in LEAVING for call in self.events.invokes(verb)[:1]]

    # --- requests ---

    def requests(self, *commands: str) -> list[Request]:
        """Return what clients wrote of these commands, with the answers."""
        found = self._requests.get(commands)
        if found is None:
            found = self._requests[commands] = requests(self.events, self.answers_to_requests, *commands)
        return found

    @cached_property
    def registrations(self) -> list[Registration]:
        """Every PRODUCER."""
        return registrations(self.events, self._tracker.producer_sessions)

    @cached_property
    def setbacks(self) -> list[Setback]:
        """Of producers and consumers that had been admitted to a topic before."""
        return setbacks(self)

    def setbacks_of(self, owner: Producer | Consumer) -> Sequence[Setback]:
        """Return the setbacks of a producer or consumer."""
        return self._setbacks_by_owner.get(id(owner), ())

    @cached_property
    def _setbacks_by_owner(self) -> dict[int, list[Setback]]:
        return grouped(self.setbacks, lambda one: id(one.owner))

    def registrations_of(self, producer: Producer) -> Sequence[Registration]:
        """Return every PRODUCER of one."""
        return self._registrations_by_producer.get(id(producer), ())

    @cached_property
    def _registrations_by_producer(self) -> dict[int, list[Registration]]:
        return grouped(self.registrations, lambda one: id(one.producer))

    def had_been_admitted(self, registration: Registration) -> bool:
        """Return whether its producer had been admitted before, on another session, when it was refused."""
        line, refusal = registration.session.line, registration.refusal
        if line is None or refusal is None:
            return False
        return any(one.was_admitted(refusal) for one in line.sessions)

    def local_topic(self, frame: Frame) -> str:
        """Return the topic that a frame names, by its name in the Case."""
        return self.local_name(str(frame.fields.get("topic", "")))

    def local_name(self, full: str) -> str:
        """Return a topic by its name in the Case."""
        return self._tracker.local_topic(full)

    # --- producers: sessions, units, sends, answers ---

    @property
    def producers(self) -> Sequence[Producer]:
        """Every producer, on each topic or partition, over all its connections."""
        return self._tracker.lines.all

    def producers_of(self, handle: int) -> Iterator[Producer]:
        """Yield the producers of a handle, one for each topic or partition."""
        return self._tracker.lines.of_handle(handle)

    @cached_property
    def ended_by_brokers(self) -> dict[int | None, Frame]:
        """Handle of a producer -> the first answer that ended it; with partitions, the producer of one of them."""
        found: dict[int | None, Frame] = {}
        for answer in self.answers:
            if answer.frame.fields.get("error") in FINAL_ERRORS:
                found.setdefault(answer.handle, answer.frame)
        return found

    def is_registered(self, handle: int, at: Event) -> bool:
        """Return whether all producers of a handle had been admitted long enough before an event, and still were."""
        last = [producer.sessions[-1] for producer in self.producers_of(handle) if producer.sessions]
        closed = [self.closed(one.conn) for one in last]
        return bool(last) and all(
            one.admitted is not None
            and one.admitted.t_ns < at.t_ns - IN_FLIGHT_NS
            and one.sent_away is None
            and (end is None or end.seq > at.seq)
            for one, end in zip(last, closed, strict=True)
        )

    @property
    def producer_sessions(self) -> Sequence[ProducerSession]:
        """Every producer on every connection, in order of its PRODUCER."""
        return self._tracker.producer_sessions

    def session_of(self, frame: Frame) -> ProducerSession | None:
        """Return the producer on its connection that a frame is about."""
        there = self._sessions_by_ids.get((frame.conn, frame.producer_id), ())
        place = bisect_right(there, frame.seq, key=lambda one: one.request.seq)
        return there[place - 1] if place else None

    @cached_property
    def _sessions_by_ids(self) -> dict[tuple[int, int | None], list[ProducerSession]]:
        found: dict[tuple[int, int | None], list[ProducerSession]] = {}
        for session in self.producer_sessions:
            found.setdefault((session.conn, session.producer_id), []).append(session)
        return found

    @property
    def resent(self) -> Sequence[Resent]:
        """Every SEND of a unit that had left before."""
        return self._tracker.lines.resent

    @cached_property
    def _out_of_turn(self) -> frozenset[int]:
        return frozenset(answer.frame.seq for answer in self.answers)

    def is_in_turn(self, receipt: Frame) -> bool:
        """Return whether it was for the oldest unanswered unit."""
        return receipt.seq not in self._out_of_turn

    def sends_on(self, session: ProducerSession) -> Iterator[Frame]:
        """Yield every SEND of a session, from its PRODUCER on until the next one under its id there."""
        ours = takewhile(lambda frame: self.session_of(frame) is session, self._of_its_id(session, "SEND"))
        return (frame for frame in ours if frame.from_sender)

    def was_closed(self, session: ProducerSession) -> bool:
        """Return whether a CLOSE_PRODUCER was written for a session, by either side."""
        close = next((one for one in self._of_its_id(session, "CLOSE_PRODUCER") if one.from_sender), None)
        return close is not None and self.session_of(close) is session

    def _of_its_id(self, session: ProducerSession, command: str) -> Iterator[Frame]:
        """Yield the frames of a command with a session's ids, from its PRODUCER on; the ids may be given again."""
        by_id = self.events.frames_by(command, "conn", "producer_id")
        return after(by_id.get((session.conn, session.producer_id), ()), session.request)

    def numbers(self, frame: Frame, session: ProducerSession) -> tuple[int, ...]:
        """Return the numbers of the messages in a SEND, where all of them are known."""
        return self._tracker.lines.numbers(frame.members, session.topic)

    def had_reused_ids(self, producer: Producer, before: Frame) -> bool:
        """Return whether it had given one sequence id to two messages by then."""
        since = self._tracker.lines.reused_since.get(-1 if producer.handle is None else producer.handle)
        return since is not None and since <= before.seq

    def admitted_before(self, end: Completion) -> Producer | None:
        """Return the producer of this send, on the first of its partitions that had admitted it by then."""
        for producer in self.producers_of(-1 if end.handle is None else end.handle):
            if any(one.was_admitted(end) for one in producer.sessions):
                return producer
        return None

    def confirmed_by(self, receipt: Frame) -> Unit | None:
        """Return the unit of which this is the first receipt."""
        session = self.session_of(receipt)
        line = None if session is None else session.line
        confirmed = (unit for unit in line.units if unit.receipts[:1] == (receipt,)) if line is not None else iter(())
        return next(confirmed, None)

    @property
    def unannounced(self) -> Sequence[Frame]:
        """SENDs of producers that were not announced on their connection."""
        return self._tracker.lines.unannounced

    @cached_property
    def answers(self) -> list[Answer]:
        """Those that are no receipt for the oldest unanswered unit."""
        return answers(self.view)

    @cached_property
    def _receipted(self) -> dict[int, set[int | None]]:
        found: dict[int, set[int | None]] = {}
        for answer in self.answers:
            if answer.unit is not None:
                found.setdefault(answer.frame.conn, set()).add(answer.handle)
        for producer in self.producers:
            for unit in producer.units:
                for receipt in unit.receipts:
                    found.setdefault(receipt.conn, set()).add(producer.handle)
        return found

    def receipted_on(self, conn: int) -> set[int | None]:
        """Return the handles of the producers that were sent a receipt over this connection."""
        return self._receipted.get(conn, set())

    def handle(self, producer: Producer) -> int:
        """Return the handle of a producer.

        Raises `UnknownError` where its sessions may be those of any of several.
        """
        if producer.handle is None:
            raise UnknownError(UNSURE)
        return producer.handle

    def owner(self, producer: Producer) -> int:
        """Return the handle of a producer of which every session is known.

        Raises `UnknownError` where one of another may be its own.
        """
        self.check_sessions(producer)
        return self.handle(producer)

    def check_sessions(self, producer: Producer) -> None:
        """Raise `UnknownError` where the owner of a session that may be this producer's is not known."""
        self.check_owned(producer.handle)

    def check_pairing(self, *handles: int | None) -> None:
        """Raise `UnknownError` where which receipt answers which SEND of these producers is not known."""
        if not self._tracker.lines.unpaired.isdisjoint(handles):
            raise UnknownError("ids were used twice, or a fault tore the stream: which SEND a receipt is for is open")

    def check_receipts(self, handle: int, at: Event) -> None:
        """Raise `UnknownError` where which SENDs of a producer had their receipt is not known at an event."""
        self.check_forged_receipts(at)
        since = (self._tracker.lines.reused_since.get(handle), self._tracker.lines.torn_since.get(handle))
        if any(seq is not None and seq <= at.seq for seq in since):
            raise UnknownError("ids were used twice, or a fault tore the stream: which SEND a receipt is for is open")

    def check_forged_receipts(self, at: Event) -> None:
        """Raise `UnknownError` where a fault had altered or made up an answer to a SEND by an event."""
        forged = self._tracker.lines.forged_receipt
        if forged is not None and forged.seq <= at.seq:
            raise UnknownError("a fault altered or made up an answer to a SEND")

    def check_untorn(self, handle: int, at: Event) -> None:
        """Raise `UnknownError` where a fault had torn the stream of a producer's SENDs by an event."""
        since = self._tracker.lines.torn_since.get(handle)
        if since is not None and since <= at.seq:
            raise UnknownError("a fault tore the stream of SENDs: what the client holds of it is open")

    def check_whole(self, handle: int) -> None:
        """Raise `UnknownError` where a session of this producer may be another's, or a fault tore or changed its
        stream."""
        lines = self._tracker.lines
        if handle in lines.foresight.unsure | lines.torn_sends | lines.forged_sends:
            raise UnknownError("a fault tore the stream of SENDs, or a session may be another producer's")

    def check_untampered(self, *handles: int | None) -> None:
        """Raise `UnknownError` where a fault changed a SEND of these producers, or made one up."""
        if not self._tracker.lines.forged_sends.isdisjoint(handles):
            raise UnknownError("a fault changed a SEND: what was receipted is not what was sent")

    # --- sends ---

    @cached_property
    def letters(self) -> Letters:
        """Copies that clients sent to retry and dead letter topics."""
        requests = self.requests("LOOKUP", "PARTITIONED_METADATA", "PRODUCER")
        return Letters(self.view, self.events, self.answers, requests)

    def sends(self, unit: Unit) -> Iterator[Send]:
        """Yield the sends of the application inside a unit, where they are known."""
        if unit.line.handle is not None:
            for number in unit.numbers:
                operation = self._tracker.send_of(unit.line.handle, number)
                if operation is not None:
                    yield operation

    def had_ended(self, unit: Unit, seq: int) -> bool:
        """Return whether some send inside a unit had ended before event `seq`."""
        return any(send.completion is not None and send.completion.seq < seq for send in self.sends(unit))

    def leaving(self, *handles: int) -> Iterator[Leaving]:
        """Yield every unit of these producers as it leaves for the first time, with what is in flight then."""
        return leaving(self._tracker, self.answers, handles)

    def opening(self, producer: Producer | None) -> Invoke | None:
        """Return the call that opened a producer."""
        return self._tracker.lines.openings.get(-1 if producer is None or producer.handle is None else producer.handle)

    def opening_of(self, handle: int | None) -> Invoke | None:
        """Return the call that opened a producer or consumer."""
        consumer = self.consumer(handle)
        return self.openings.get(-1 if handle is None else handle) if consumer is None else consumer.invoke

    def failed_to_open(self, handle: int | None, by: Event | None = None) -> bool:
        """Return whether the call that opened a producer or consumer failed, or had by an event: there is none then."""
        call = self.opening_of(handle)
        end = None if call is None else self.end_of(call.op)
        return end is not None and end.outcome is not Outcome.OK and (by is None or end.seq < by.seq)

    @property
    def openings(self) -> Mapping[int, Invoke]:
        """Handle of each producer -> the call that opened it."""
        return self._tracker.lines.openings

    @property
    def bursts(self) -> Set[int]:
        """Handles of producers that sent bursts, of which the history has no single sends."""
        return self._tracker.lines.burst

    def own_messages(self) -> Iterator[tuple[Identity, Frame | Stored]]:
        """Yield every message of this Case's producers in a SEND or an entry, as far as it is known."""
        events: tuple[Frame | Stored, ...] = (*self.events.frames("SEND"), *self.events.of(Stored))
        for event in events:
            for member in event.members:
                identity = self._tracker.own(member.identity)
                if identity is not None:
                    yield identity, event

    def closing(self, handle: int | None) -> Parting | None:
        """Return what ends a producer or consumer: the call that closes it or its client, or the end of its process."""
        consumer = self.consumer(handle)
        return self.closings.get(-1 if handle is None else handle) if consumer is None else consumer.closing

    def over(self, opening: Invoke) -> Event | None:
        """Return what ended the producer or consumer of an opening: its closing, or else the end of its process."""
        ends = (self.closing(opening.handle), *self.events.of(AgentEnded))
        later = (end for end in ends if end is not None and end.seq > opening.seq)
        return first_of(*later)

    @property
    def closings(self) -> Mapping[int, Parting]:
        """Handle of each producer -> what ends it."""
        return self._tracker.lines.closings

    def close_of(self, handle: int | None) -> Completion | None:
        """Return how the call that closed a producer or consumer, or its client, ended, where it is closed then.

        The end is well, an error that is certain, or a lack of a connection: a call without one may fail for that, and
        the application has closed it.
        """
        closing = self.closing(handle)
        end = self.end_of(closing.op) if isinstance(closing, Invoke) else None
        is_closed = end is not None and (end.outcome in _CERTAIN or end.error is ErrorClass.TRANSPORT)
        return end if is_closed else None

    def sends_of(self, handle: int | None) -> Sequence[Send]:
        """Return the sends of one producer, in call order."""
        return self._tracker.sends.get(-1 if handle is None else handle, ())

    def ends(self, verb: str) -> Iterator[Completion]:
        """Yield how the operations of a verb ended, in order of arrival."""
        operations = self._tracker.operations
        return (end for end in self.events.completions(verb) if operations[end.op].completion is end)

    @cached_property
    def failed_sends(self) -> list[Completion]:
        """Sends that did not end well, in order of arrival."""
        return [end for end in self.events.completions("send") if end.outcome is not Outcome.OK]

    def completed_again(self, verb: str) -> list[tuple[Send, Completion]]:
        """Return operations of a verb that had ended, and how they ended once more."""
        return [(operation, end) for operation, end in self._tracker.completed_again if end.verb == verb]

    def call(self, end: Completion) -> Invoke:
        """Return the call that ended so."""
        return self._tracker.operations[end.op].invoke

    def was_overdue(self, end: Completion) -> bool:
        """Return whether an operation had not ended in its time."""
        overdue = self._tracker.operations[end.op].overdue
        return overdue is not None and overdue.seq < end.seq

    def number(self, end: Completion) -> int:
        """Return which of its producer's messages a send was for."""
        return self.call(end).number or 0

    def unit_of(self, end: Completion) -> Unit | None:
        """Return the unit in which a send left before it ended."""
        unit = self._tracker.lines.by_message.get((end.handle or 0, self.number(end)))
        return unit if unit is not None and unit.first.seq < end.seq else None

    def unit_with(self, send: Send) -> Unit | None:
        """Return the unit in which a send left, whenever."""
        return self._tracker.lines.by_message.get((send.invoke.handle or 0, send.invoke.number or 0))
