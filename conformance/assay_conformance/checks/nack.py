"""Negative acknowledgment: what the application refused is asked for again, whole, at its time, and not once it was
acknowledged after all.

A client may look at its refused messages only every `nack_tick_fraction` of the delay, and may forget the low bits of
the time (`nack_precision_ms`): both are constants of its agent.toml, and where it states none the widest known apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from assay_conformance.checks.base import View, ms, on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    acked_entries,
    elapsed,
    entry_on,
    from_client,
    in_force,
    late,
    number_in_force,
    of_batch,
    plain_acks,
    to_client,
)
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Completion, Event, Frame, Outcome, Received
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId

REDELIVER = "REDELIVER_UNACKNOWLEDGED_MESSAGES"

WIDEST_PRECISION_MS = 256
WIDEST_TICK_FRACTION = 1 / 3

LEAST_DELAY_MS = 100
"""Clients raise shorter delays to this."""


@dataclass(frozen=True, slots=True)
class Window:
    """When, after the call, a REDELIVER may and must leave; without the tolerances."""

    earliest_ns: int
    latest_ns: int


def window_of(view: View, consumer: OpenedConsumer) -> Window | None:
    """None where the delay is not known."""
    delay_ms = number_in_force(view, consumer, "nack_delay_ms")
    if delay_ms is None:
        return None
    precision_ms = number_in_force(view, consumer, "nack_precision_ms")
    fraction = in_force(view, consumer, "nack_tick_fraction")
    tick_ms = max(delay_ms, LEAST_DELAY_MS) * float(WIDEST_TICK_FRACTION if fraction is None else fraction)
    early_ms = WIDEST_PRECISION_MS if precision_ms is None else precision_ms
    return Window(
        earliest_ns=(delay_ms - early_ms) * MS, latest_ns=max(delay_ms, LEAST_DELAY_MS) * MS + round(tick_ms * MS)
    )


def requested(session: ConsumerSession, event: Frame, among: Iterable[Entry]) -> list[Entry]:
    """The entries of `among` that a REDELIVER asks for; without ids it asks for everything."""
    named = {entry_on(session, id) for id in event.ids}
    return [entry for entry in among if entry.topic == session.topic and (not named or entry in named)]


@dataclass(slots=True)
class _Refused:
    """An entry that waits for its redelivery: refused first, and last, by these calls."""

    first: Call
    last: Call
    excused: bool = False


class RedeliveredInWindow(ConsumerCheck):
    """Not before the delay, not after the delay and a tick.

    The lower bound counts from the command, the upper one from the last refusal by this consumer: that later refusals
    must not postpone earlier ones is another requirement. An ack in between excuses the client from asking at all.

    Each refusal may have a timer of its own, and a timer outlives the session that its message came on: a request is
    too early only when none that runs for its entry is due. One that names no entry asks for all of them.
    """

    requirement = RequirementId("nack.redelivered-in-window")

    def start(self) -> None:
        self._refused: dict[tuple[int, Entry], _Refused] = {}
        self._acked: set[tuple[int, Entry]] = set()
        self._refusals_ns: dict[int, list[int]] = {}
        self._timers: dict[tuple[int, Entry], list[int]] = {}
        """When each refusal of an entry was asked for that may not have been acted upon."""

    def asked(self, call: Call) -> None:
        key = (call.consumer.handle, call.entry)
        if call.invoke.verb == "ack":
            self._acked.add(key)
            for (handle, entry), waiting in self._refused.items():
                if handle == key[0] and (entry == call.entry or (call.cumulative and entry < call.entry)):
                    waiting.excused = True
            return
        self._timers.setdefault(key, []).append(call.invoke.t_ns)
        if key not in self._acked and self.session_of(call) is not None:
            waiting = self._refused.setdefault(key, _Refused(call, call))
            waiting.last = call

    def called(self, call: Call) -> None:
        if call.invoke.verb == "nack":
            self._refusals_ns.setdefault(call.consumer.handle, []).append(call.called_ns)

    @on(Frame, REDELIVER)
    def redeliver(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event):
            return
        handle = session.consumer.handle
        window = window_of(self.view, session.consumer)
        mine = {entry for (owner, entry) in self._timers if owner == handle}
        asked_for = requested(session, event, mine)
        due = {entry for entry in asked_for if window is None or self._is_due((handle, entry), window, event)}
        found = [entry for entry in asked_for if (handle, entry) in self._refused]
        if window is not None and found:
            oldest = min(found, key=lambda entry: self._refused[handle, entry].first.invoke.t_ns)
            for entry in found if event.ids else (oldest,):
                self._judge(
                    self._refused[handle, entry], window, event, early=not (due & {entry} if event.ids else due)
                )
        for entry in found:
            if entry in due or event.ids:
                del self._refused[handle, entry]
            else:
                self._refused[handle, entry].excused = True

    def _is_due(self, key: tuple[int, Entry], window: Window, event: Frame) -> bool:
        """Some refusal of the entry has waited for long enough; those that have are done with."""
        earliest_ns = window.earliest_ns - TOLERANCES["nack-early"].slack_ns
        running = [asked_ns for asked_ns in self._timers[key] if event.t_ns - asked_ns < earliest_ns]
        some = len(running) < len(self._timers[key])
        self._timers[key] = running
        return some

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for session in consumer.sessions:
            self.over(session, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        consumer = session.consumer
        if consumer is None:
            return
        window = window_of(self.view, consumer)
        for handle, entry in [key for key in self._refused if key[0] == consumer.handle]:
            if entry.topic == session.topic:
                waiting = self._refused.pop((handle, entry))
                start_ns = None if window is None else self._from(waiting, window)
                if window and start_ns is not None and late("nack-late", start_ns + window.latest_ns, event.t_ns):
                    self.suspect(
                        "nack-late",
                        start_ns,
                        event.t_ns,
                        "never-requested",
                        f"consumer {handle} was told at {ms(waiting.last.invoke.t_ns)} that {entry} is refused and had "
                        f"sent no REDELIVER of it by {ms(event.t_ns)}, expected one within "
                        f"{window.latest_ns / MS:.0f} ms",
                        waiting.last.invoke,
                        event,
                    )

    def _judge(self, waiting: _Refused, window: Window, event: Frame, early: bool) -> None:
        handle, first, last = waiting.first.consumer.handle, waiting.first.invoke, waiting.last
        if early and not number_in_force(self.view, waiting.first.consumer, "ack_timeout_ms"):
            self.breach(
                "too-early",
                f"consumer {handle} asked for {waiting.first.entry} again {elapsed(event.t_ns, first.t_ns)} after the "
                f"application refused it, expected at least {window.earliest_ns / MS:.0f} ms",
                first,
                event,
            )
            return
        start_ns = self._from(waiting, window)
        if start_ns is None:
            return
        if late("nack-late", start_ns + window.latest_ns, event.t_ns):
            self.suspect(
                "nack-late",
                start_ns,
                event.t_ns,
                "too-late",
                f"consumer {handle} asked for {last.entry} again {elapsed(event.t_ns, last.called_ns)} after the "
                f"application refused it, expected within {window.latest_ns / MS:.0f} ms",
                last.invoke,
                event,
            )
        else:
            self.exercise(event)

    def _from(self, waiting: _Refused, window: Window) -> int | None:
        """When the upper bound starts to run; None where there is none."""
        last = waiting.last
        if last.operation.outcome is not Outcome.OK or waiting.excused:
            return None
        start_ns = last.called_ns
        for refused_ns in self._refusals_ns.get(last.consumer.handle, ()):
            if start_ns < refused_ns <= start_ns + window.latest_ns:
                start_ns = refused_ns
        return start_ns


@dataclass(slots=True)
class _Members:
    """A refused batch entry: the messages still open, and what came back of them."""

    call: Call
    size: int
    request: Frame | None = None
    dispatch: Frame | None = None
    back: set[int] = field(default_factory=set)


class WholeEntry(ConsumerCheck):
    """A refused batch message brings its entry back: the REDELIVER names no batch index, and the application gets
    every message of the entry that it has not acknowledged."""

    requirement = RequirementId("nack.whole-entry")

    def start(self) -> None:
        self._refused: dict[tuple[int, Entry], _Members] = {}
        self._acked: set[tuple[int, Entry, int]] = set()
        self._sizes: dict[tuple[int, Entry], int] = {}

    def asked(self, call: Call) -> None:
        id = call.message.message_id
        key = (call.consumer.handle, call.entry)
        if call.invoke.verb == "ack":
            if call.cumulative:
                self._refused.clear()
            self._acked.add((*key, id.batch_index))
        elif of_batch(id) and self.session_of(call) is not None and self._all_seen(call, self._sizes.get(key, 0)):
            self._refused.setdefault(key, _Members(call, self._sizes[key]))

    def _all_seen(self, call: Call, size: int) -> bool:
        """Every message of the entry had come before, so that what comes from now on came again."""
        seen = {
            message.message_id.batch_index
            for message in self.tracker.received[call.consumer.handle]
            if self.tracker.entries.get(message.seq) == call.entry
        }
        return len(seen) >= size > 1

    @on(Frame, REDELIVER)
    def redeliver(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event):
            return
        handle = session.consumer.handle
        mine = [entry for (owner, entry) in self._refused if owner == handle]
        for entry in requested(session, event, mine):
            members = self._refused[handle, entry]
            members.request = event
            indexed = [id for id in event.ids if entry_on(session, id) == entry and id.batch_index >= 0]
            if indexed:
                self.breach(
                    "batch-index-sent",
                    f"consumer {handle} asked for message {indexed[0].batch_index} of batch {entry} again, expected "
                    "the whole entry, without a batch index",
                    members.call.invoke,
                    event,
                )
                del self._refused[handle, entry]

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event):
            return
        key = (session.consumer.handle, entry_on(session, event.ids[0]))
        self._sizes[key] = (event.meta.batch if event.meta is not None else None) or 0
        members = self._refused.get(key)
        if members is not None and members.request is not None and event.intact is not False:
            if any(event.ack_sets) or members.dispatch is not None:
                del self._refused[key]
            else:
                members.dispatch = event

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        entry = None if consumer is None else self.tracker.entries.get(event.seq)
        members = None if entry is None else self._refused.get((event.handle, entry))
        if members is None or members.dispatch is None:
            return
        members.back.add(event.message_id.batch_index)
        if not self._missing(members):
            self.exercise(event)
            del self._refused[event.handle, members.call.entry]

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        """A receive that ended short, although part of the entry had come, shows that the rest will not."""
        operation = self.tracker.operations.get(event.op)
        if operation is None or event.count is None:
            return
        if event.count >= int(operation.invoke.args.get("count", 1)):
            return
        for (handle, entry), members in list(self._refused.items()):
            dispatch = members.dispatch
            if handle != event.handle or dispatch is None or not members.back:
                continue
            if not late("answer", dispatch.t_ns, event.t_ns):
                continue
            self.suspect(
                "answer",
                dispatch.t_ns,
                event.t_ns,
                "part-of-entry",
                f"consumer {handle} got entry {entry} again at {ms(dispatch.t_ns)} and handed over messages "
                f"{_list(members.back)}, expected {_list(self._missing(members))} too",
                members.call.invoke,
                dispatch,
                event,
            )
            del self._refused[handle, entry]

    def over(self, session: ConsumerSession, event: Event) -> None:
        del event
        if session.consumer is not None:
            for key in [key for key in self._refused if key[0] == session.consumer.handle]:
                del self._refused[key]

    def _missing(self, members: _Members) -> set[int]:
        handle, entry = members.call.consumer.handle, members.call.entry
        assert members.dispatch is not None
        compacted = {index for index, member in enumerate(members.dispatch.members) if member.compacted_out}
        open_ = {index for index in range(members.size) if (handle, entry, index) not in self._acked}
        return open_ - members.back - compacted


def _list(indexes: Iterable[int]) -> str:
    return ", ".join(str(index) for index in sorted(indexes))


@dataclass(slots=True)
class _Settled:
    """Refused, then acknowledged. `allowed` deliveries were under way when the ACK reached the broker.

    `judged`: exercised already, or not to be, since redelivery had been asked for before.
    """

    nack: Call
    ack: Call
    arrived: Frame | None = None
    dispatch: Frame | None = None
    allowed: int = 0
    judged: bool = False


class AckedNotRedelivered(ConsumerCheck):
    """Refused, acknowledged before the delay was over: the application must not see it again.

    The REDELIVER may still be sent. What the broker had dispatched before the ACK reached it may still arrive.
    """

    requirement = RequirementId("nack.acked-not-redelivered")

    def start(self) -> None:
        self._nacked: dict[tuple[int, Entry], Call] = {}
        self._settled: dict[tuple[int, Entry], _Settled] = {}
        self._dispatched: dict[tuple[int, Entry], int] = {}
        self._received: dict[tuple[int, Entry], int] = {}
        self._requested: set[tuple[int, Entry]] = set()

    def asked(self, call: Call) -> None:
        key = (call.consumer.handle, call.entry)
        if of_batch(call.message.message_id) or self.session_of(call) is None:
            return
        if call.invoke.verb == "nack":
            self._nacked.setdefault(key, call)
        elif not call.cumulative and key in self._nacked:
            self._settled.setdefault(key, _Settled(self._nacked[key], call))

    @on(Frame, REDELIVER)
    def redeliver(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and event.at_broker:
            handle = session.consumer.handle
            mine = [entry for (owner, entry) in self._nacked if owner == handle]
            self._requested.update((handle, entry) for entry in requested(session, event, mine))

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not event.at_broker or not plain_acks(event):
            return
        if session.ended is not None:
            return  # The broker had closed the consumer, and takes no ACK of it any more.
        for entry in acked_entries(session, event) if event.ack_type != "Cumulative" else ():
            key = (session.consumer.handle, entry)
            settled = self._settled.get(key)
            if settled is not None and settled.arrived is None:
                settled.arrived = event
                settled.judged = key in self._requested
                settled.allowed = self._dispatched.get(key, 0) - self._received.get(key, 0)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or event.dir is not Direction.TO_CLIENT:
            return
        key = (session.consumer.handle, entry_on(session, event.ids[0]))
        settled = self._settled.get(key)
        if settled is not None and settled.arrived is not None:
            if event.from_sender:
                settled.dispatch = settled.dispatch or event
            elif settled.dispatch is None:
                # A frame held since before the ACK, or a copy of one.
                settled.allowed += 1
        elif event.to_receiver:
            self._dispatched[key] = self._dispatched.get(key, 0) + 1

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        entry = None if consumer is None else self.tracker.entries.get(event.seq)
        if entry is None:
            return
        key = (event.handle, entry)
        self._received[key] = self._received.get(key, 0) + 1
        settled = self._settled.get(key)
        if settled is None or settled.arrived is None:
            return
        settled.allowed -= 1
        if settled.allowed < 0:
            dispatched = [settled.dispatch] if settled.dispatch is not None else []
            self.breach(
                "redelivered-after-ack",
                f"consumer {event.handle} got {entry} again at {ms(event.t_ns)}; its ACK had reached the broker at "
                f"{ms(settled.arrived.t_ns)}, {elapsed(settled.arrived.t_ns, settled.nack.invoke.t_ns)} after it was "
                "refused",
                settled.arrived,
                *dispatched,
                event,
            )
            del self._settled[key]

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        """A receive that ended short after the delay shows that nothing came."""
        for (handle, _entry), settled in self._settled.items():
            window = window_of(self.view, settled.nack.consumer)
            if handle != event.handle or settled.arrived is None or settled.judged or window is None:
                continue
            if event.t_ns >= settled.nack.invoke.t_ns + window.latest_ns:
                settled.judged = True
                self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        """A seek or an unsubscribe brings acknowledged messages back by intent."""
        by_intent = isinstance(event, Frame) and event.command in ("SEEK", "UNSUBSCRIBE")
        if session.consumer is not None and by_intent:
            for key in [key for key in self._settled if key[0] == session.consumer.handle]:
                del self._settled[key]
