"""The timeline's relations about producers on their connections, the units they sent, and the sends inside."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import takewhile

from assay_conformance.history.events import after
from assay_conformance.model.event import Completion, Event, Frame, Identity, Outcome, Stored
from assay_conformance.pulsar.timeline.opening import Opening
from assay_conformance.pulsar.timeline.producers import Producer, ProducerSession, Resent, Send, Unit
from assay_conformance.pulsar.timeline.sends import IN_FLIGHT_NS


class Sending(Opening):
    """The part of a timeline about what producers send."""

    @property
    def producers(self) -> Sequence[Producer]:
        """Every producer, on each topic or partition, over all its connections."""
        return self._tracker.lines.all

    def producers_of(self, handle: int) -> Iterator[Producer]:
        """Yield the producers of a handle, one for each topic or partition."""
        return self._tracker.lines.of_handle(handle)

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

    def _of_its_id(self, session: ProducerSession, command: str) -> Iterator[Frame]:
        """Yield the frames of a command with a session's ids, from its PRODUCER on; the ids may be given again."""
        by_id = self.events.frames_by(command, "conn", "producer_id")
        return after(by_id.get((session.conn, session.producer_id), ()), session.request)

    def sends_on(self, session: ProducerSession) -> Iterator[Frame]:
        """Yield every SEND of a session, from its PRODUCER on until the next one under its id there."""
        ours = takewhile(lambda frame: self.session_of(frame) is session, self._of_its_id(session, "SEND"))
        return (frame for frame in ours if frame.from_sender)

    def was_closed(self, session: ProducerSession) -> bool:
        """Return whether a CLOSE_PRODUCER was written for a session, by either side."""
        close = next((one for one in self._of_its_id(session, "CLOSE_PRODUCER") if one.from_sender), None)
        return close is not None and self.session_of(close) is session

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

    def admitted_before(self, end: Completion) -> Producer | None:
        """Return the producer of this send, on the first of its partitions that had admitted it by then."""
        for producer in self.producers_of(-1 if end.handle is None else end.handle):
            if any(one.was_admitted(end) for one in producer.sessions):
                return producer
        return None

    def numbers(self, frame: Frame, session: ProducerSession) -> tuple[int, ...]:
        """Return the numbers of the messages in a SEND, where all of them are known."""
        return self._tracker.lines.numbers(frame.members, session.topic)

    def had_reused_ids(self, producer: Producer, before: Frame) -> bool:
        """Return whether it had given one sequence id to two messages by then."""
        since = self._tracker.lines.reused_since.get(-1 if producer.handle is None else producer.handle)
        return since is not None and since <= before.seq

    @property
    def unannounced(self) -> Sequence[Frame]:
        """SENDs of producers that were not announced on their connection."""
        return self._tracker.lines.unannounced

    @property
    def resent(self) -> Sequence[Resent]:
        """Every SEND of a unit that had left before."""
        return self._tracker.lines.resent

    def confirmed_by(self, receipt: Frame) -> Unit | None:
        """Return the unit of which this is the first receipt."""
        session = self.session_of(receipt)
        line = None if session is None else session.line
        confirmed = (unit for unit in line.units if unit.receipts[:1] == (receipt,)) if line is not None else iter(())
        return next(confirmed, None)

    def own_messages(self) -> Iterator[tuple[Identity, Frame | Stored]]:
        """Yield every message of this Case's producers in a SEND or an entry, as far as it is known."""
        events: tuple[Frame | Stored, ...] = (*self.events.frames("SEND"), *self.events.of(Stored))
        for event in events:
            for member in event.members:
                identity = self._tracker.own(member.identity)
                if identity is not None:
                    yield identity, event

    def sends(self, unit: Unit) -> Iterator[Send]:
        """Yield the sends of the application inside a unit, where they are known."""
        if unit.line.handle is not None:
            for number in unit.numbers:
                operation = self._tracker.send_of(unit.line.handle, number)
                if operation is not None:
                    yield operation

    def sends_of(self, handle: int | None) -> Sequence[Send]:
        """Return the sends of one producer, in call order."""
        return self._tracker.sends.get(-1 if handle is None else handle, ())

    def unit_of(self, end: Completion) -> Unit | None:
        """Return the unit in which a send left before it ended."""
        unit = self._tracker.lines.by_message.get((end.handle or 0, self.number(end)))
        return unit if unit is not None and unit.first.seq < end.seq else None

    def unit_with(self, send: Send) -> Unit | None:
        """Return the unit in which a send left, whenever."""
        return self._tracker.lines.by_message.get((send.invoke.handle or 0, send.invoke.number or 0))

    def had_ended(self, unit: Unit, seq: int) -> bool:
        """Return whether some send inside a unit had ended before event `seq`."""
        return any(send.completion is not None and send.completion.seq < seq for send in self.sends(unit))

    @cached_property
    def failed_sends(self) -> list[Completion]:
        """Sends that did not succeed, in order of arrival."""
        return [end for end in self.events.completions("send") if end.outcome is not Outcome.OK]
