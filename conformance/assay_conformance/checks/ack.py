"""Acknowledgment: what the application settled reaches the broker, whole, grouped, and in time.

A client keeps acks back for one group interval and sends them together. Four things can go wrong: they come late or
one by one, a smaller cumulative ack follows a greater one, close forgets them, and an entry is settled while some of
its messages are still open, which loses those for good.

Acks are judged on the session their message came on, while it lasts: what a client does with acks over a lost
connection is another requirement's matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    REFUSED,
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
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Event, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId

Key = tuple[int, int]
"""A session: connection and consumer id; state of one is dropped when it is over."""

SAME_FLUSH_NS = 5 * MS
"""ACK frames closer than this left in one flush: a client may write one command an id."""

LEAST_INTERVAL_MS = 40
"""Below this a group interval is too short to tell two flushes from one delayed timer."""


def _key(session: ConsumerSession) -> Key:
    return (session.conn, session.consumer_id)


@dataclass(slots=True)
class _Flushing:
    """What one session still owes, and what it has sent."""

    pending: dict[Entry, Call] = field(default_factory=dict)
    sent: dict[Entry, Frame] = field(default_factory=dict)
    cumulative: Entry | None = None
    moments: list[Frame] = field(default_factory=list)


class FlushedInTime(ConsumerCheck):
    """Obligation: an individual ack that completed, of a whole entry. Due one interval after the call."""

    requirement = RequirementId("ack.flushed-in-time")

    def start(self) -> None:
        self._sessions: dict[Key, _Flushing] = {}

    def called(self, call: Call) -> None:
        session = self.session_of(call)
        if call.invoke.verb != "ack" or session is None or of_batch(call.message.message_id):
            return
        state = self._sessions.setdefault(_key(session), _Flushing())
        if call.cumulative:
            state.cumulative = max(state.cumulative or call.entry, call.entry)
            state.pending = {entry: pending for entry, pending in state.pending.items() if entry > call.entry}
        elif call.entry in state.sent:
            if state.sent[call.entry].seq > call.invoke.seq:
                self.exercise(state.sent[call.entry])
        elif not (state.cumulative and call.entry <= state.cumulative):
            state.pending.setdefault(call.entry, call)

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event) or not plain_acks(event):
            return
        state = self._sessions.setdefault(_key(session), _Flushing())
        if event.ack_type == "Cumulative":
            settled = [entry for entry in state.pending if event.ids and entry <= entry_on(session, event.ids[0])]
        else:
            settled = [entry for entry in acked_entries(session, event) if entry in state.pending]
            state.sent.update(dict.fromkeys(acked_entries(session, event), event))
        for entry in settled:
            self._flushed(state.pending.pop(entry), session.consumer, event)
        if settled:
            self._grouped(state, session.consumer, event)

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for session in consumer.sessions:
            self.over(session, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        state = self._sessions.pop(_key(session), _Flushing())
        for call in state.pending.values():
            interval_ms = number_in_force(self.view, call.consumer, "ack_group_ms")
            if interval_ms is not None and late("ack-flush", call.called_ns + interval_ms * MS, event.t_ns):
                self.suspect(
                    "ack-flush",
                    call.called_ns,
                    event.t_ns,
                    "never-flushed",
                    f"consumer {call.consumer.handle} was told at {ms(call.called_ns)} to acknowledge {call.entry} and "
                    f"had sent no ACK for it by {ms(event.t_ns)}; the group interval is {interval_ms} ms",
                    call.invoke,
                    event,
                )

    def _flushed(self, call: Call, consumer: OpenedConsumer, event: Frame) -> None:
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        if interval_ms is None:
            return
        if not late("ack-flush", call.called_ns + interval_ms * MS, event.t_ns):
            self.exercise(event)
        else:
            self.suspect(
                "ack-flush",
                call.called_ns,
                event.t_ns,
                "flushed-late",
                f"consumer {consumer.handle} was told at {ms(call.called_ns)} to acknowledge {call.entry}; its ACK "
                f"left {elapsed(event.t_ns, call.called_ns)} later, expected within the group interval of "
                f"{interval_ms} ms",
                call.invoke,
                event,
            )

    def _grouped(self, state: _Flushing, consumer: OpenedConsumer, event: Frame) -> None:
        """Three flushes in half an interval are no timer's work, unless a full group went at once."""
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms") or 0
        largest = number_in_force(self.view, consumer, "ack_group_max")
        if interval_ms < LEAST_INTERVAL_MS or (largest is not None and len(event.ids) >= largest):
            return
        moments = state.moments
        if moments and event.t_ns - moments[-1].t_ns < SAME_FLUSH_NS:
            return
        moments.append(event)
        del moments[:-3]
        if len(moments) == 3 and event.t_ns - moments[0].t_ns < interval_ms * MS / 2:
            self.suspect(
                "ack-flush",
                moments[0].t_ns - interval_ms * MS,
                event.t_ns,
                "not-grouped",
                f"consumer {consumer.handle} sent acknowledgments at {', '.join(ms(frame.t_ns) for frame in moments)}; "
                f"a group interval of {interval_ms} ms collects them into one or two",
                *moments,
            )
            moments.clear()


@dataclass(slots=True)
class _Cumulative:
    """Cumulative calls of one session. `records` are those that were the greatest when they came; `waiting` those since
    the last one that was sent."""

    named: set[Entry] = field(default_factory=set)
    records: dict[Entry, Call] = field(default_factory=dict)
    greatest: Call | None = None
    waiting: list[Call] = field(default_factory=list)
    last: tuple[Frame, Call] | None = None
    unclear: bool = False


class GreatestOnly(ConsumerCheck):
    """A cumulative ACK carries a greatest-so-far of the calls; one flush carries one.

    A call that the client refused (on a shared subscription, say) was none. A cumulative ack inside a batch may name
    the entry before, and one of unknown outcome may have been taken or not, so a session with one is not judged.
    """

    requirement = RequirementId("ack.cumulative-keeps-greatest")

    def start(self) -> None:
        self._sessions: dict[Key, _Cumulative] = {}

    def asked(self, call: Call) -> None:
        session = self.session_of(call)
        outcome = self.tracker.foresight.outcomes.get(call.invoke.op)
        if not call.cumulative or session is None or outcome in REFUSED:
            return
        state = self._sessions.setdefault(_key(session), _Cumulative())
        state.unclear = state.unclear or of_batch(call.message.message_id) or outcome is not Outcome.OK
        state.named.add(call.entry)
        state.waiting.append(call)
        if state.greatest is None or call.entry > state.greatest.entry:
            state.greatest = state.records[call.entry] = call

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or event.ack_type != "Cumulative" or not from_client(event) or not event.ids:
            return
        state = self._sessions.get(_key(session))
        entry = entry_on(session, event.ids[0])
        if state is None or state.unclear or state.greatest is None or entry not in state.named:
            return
        record = state.records.get(entry)
        if record is None:
            greater = state.greatest
            self.breach(
                "smaller-sent",
                f"consumer {greater.consumer.handle} was told to acknowledge up to {greater.entry}, and also up to "
                f"{entry}; it sent a cumulative ACK of {entry} at {ms(event.t_ns)}, expected the smaller one ignored",
                greater.invoke,
                event,
            )
            return
        if not self._sent_twice(state, record, event) and any(call.entry < entry for call in state.waiting):
            self.exercise(event)
        state.last = (event, record)
        if record in state.waiting:
            del state.waiting[: state.waiting.index(record) + 1]

    def over(self, session: ConsumerSession, event: Event) -> None:
        state = self._sessions.pop(_key(session), _Cumulative())
        greatest = state.greatest
        if state.unclear or greatest is None or not isinstance(event, Frame) or not from_client(event):
            return
        completion = greatest.operation.completion
        interval_ms = number_in_force(self.view, greatest.consumer, "ack_group_ms")
        if completion is None or interval_ms is None or (state.last and state.last[1].entry >= greatest.entry):
            return
        if late("ack-flush", completion.t_ns + interval_ms * MS, event.t_ns):
            self.suspect(
                "ack-flush",
                completion.t_ns,
                event.t_ns,
                "greatest-never-sent",
                f"consumer {greatest.consumer.handle} was told at {ms(completion.t_ns)} to acknowledge up to "
                f"{greatest.entry} and closed at {ms(event.t_ns)} without a cumulative ACK that reaches it",
                greatest.invoke,
                event,
            )

    def _sent_twice(self, state: _Cumulative, record: Call, event: Frame) -> bool:
        """A second cumulative ACK in a fraction of the interval, of a call that the first could have carried."""
        interval_ms = number_in_force(self.view, record.consumer, "ack_group_ms") or 0
        if state.last is None or interval_ms < LEAST_INTERVAL_MS:
            return False
        first, before = state.last
        together = record.operation is before.operation and record.entry != before.entry
        if not together or event.t_ns - first.t_ns > interval_ms * MS / 4:
            return False
        self.suspect(
            "ack-flush",
            first.t_ns - interval_ms * MS,
            event.t_ns,
            "not-merged",
            f"consumer {record.consumer.handle} sent cumulative ACKs of {before.entry} and {record.entry} "
            f"{elapsed(event.t_ns, first.t_ns)} apart, expected one, of {record.entry}: both were asked for together",
            record.invoke,
            first,
            event,
        )
        return True


@dataclass(slots=True)
class _Closing:
    pending: dict[Entry, Call] = field(default_factory=dict)
    sent: set[Entry] = field(default_factory=set)
    sent_to: Entry | None = None
    """The greatest entry of a cumulative ACK."""


class FlushedOnClose(ConsumerCheck):
    """When CLOSE_CONSUMER leaves, every ack of the last group interval has left on the same connection.

    One that was asked for earlier should have left long before the close, and is the other requirements' matter.
    """

    requirement = RequirementId("ack.flushed-on-close")

    def start(self) -> None:
        self._sessions: dict[Key, _Closing] = {}
        self._left: list[tuple[Call, Frame]] = []

    def asked(self, call: Call) -> None:
        session = self.session_of(call)
        unfit = call.invoke.verb != "ack" or call.consumer.closing is not None or of_batch(call.message.message_id)
        if session is None or unfit:
            return
        state = self._sessions.setdefault(_key(session), _Closing())
        settled = call.entry in state.sent or (state.sent_to is not None and call.entry <= state.sent_to)
        if not settled:
            state.pending.setdefault(call.entry, call)

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event) or not plain_acks(event):
            return
        state = self._sessions.setdefault(_key(session), _Closing())
        if event.ack_type == "Cumulative" and event.ids:
            reached = entry_on(session, event.ids[0])
            state.sent_to = max(state.sent_to or reached, reached)
            settled = {entry for entry in state.pending if entry <= reached}
        else:
            settled = set(acked_entries(session, event))
        closing = session.consumer.closing
        if closing is not None and settled & state.pending.keys():
            self.exercise(event)
        state.sent |= settled
        for entry in settled:
            state.pending.pop(entry, None)

    def over(self, session: ConsumerSession, event: Event) -> None:
        state = self._sessions.pop(_key(session), _Closing())
        asked = session.consumer is not None and session.consumer.closing is not None
        if isinstance(event, Frame) and event.command == "CLOSE_CONSUMER" and from_client(event) and asked:
            owed = [call for call in state.pending.values() if self._still_held(call) and not _covered(call, state)]
            self._left += [(call, event) for call in owed]

    def _still_held(self, call: Call) -> bool:
        closing = call.consumer.closing
        interval_ms = number_in_force(self.view, call.consumer, "ack_group_ms")
        return interval_ms is None or closing is None or closing.t_ns - call.invoke.t_ns <= interval_ms * MS

    def finish(self) -> None:
        super().finish()
        for call, event in self._left:
            # Only an ack that the client took over is owed; its completion may come behind the CLOSE_CONSUMER.
            if call.operation.outcome is Outcome.OK:
                assert call.consumer.closing is not None
                self.breach(
                    "forgotten-on-close",
                    f"consumer {call.consumer.handle} was told at {ms(call.invoke.t_ns)} to acknowledge {call.entry} "
                    f"and at {ms(call.consumer.closing.t_ns)} to close; CLOSE_CONSUMER left at {ms(event.t_ns)}, "
                    f"and no ACK of {call.entry} before it",
                    call.invoke,
                    call.consumer.closing,
                    event,
                )


def _covered(call: Call, state: _Closing) -> bool:
    """A cumulative ack that is itself pending covers what is before it: one finding is enough."""
    return any(other.cumulative and other.entry > call.entry for other in state.pending.values())


@dataclass(slots=True)
class _Batch:
    """The messages of one batch entry as one consumer got them, and how far they are settled."""

    size: int
    frame: Frame
    settled: set[int] = field(default_factory=set)
    partial_ns: int | None = None
    completing: Call | None = None
    sent: bool = False
    unclear: bool = False


class WholeBatchOnly(ConsumerCheck):
    """Without batch-index acks, an entry is acknowledged when the last of its messages is, and not before.

    A message counts as settled from the moment the bench asked for it, in whichever delivery, so that only an ACK sent
    against all evidence is a breach. The precondition is a batch left half settled for a whole group interval.
    """

    requirement = RequirementId("ack.whole-batch-only")

    def start(self) -> None:
        self._batches: dict[tuple[int, Entry], _Batch] = {}
        self._settled_to: dict[tuple[int, str], Entry] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        meta = event.meta
        session = self.tracker.consumer_of(event)
        if meta is None or (meta.batch or 0) < 2 or not to_client(event) or session is None:
            return
        consumer = session.consumer
        if consumer is None or not self._index_ack_off(consumer):
            return
        batch = self._batches.setdefault(
            (consumer.handle, entry_on(session, event.ids[0])), _Batch(meta.batch or 0, event)
        )
        filtered = any(event.ack_sets) or any(member.compacted_out for member in event.members)
        batch.unclear = batch.unclear or filtered or event.intact is False

    def asked(self, call: Call) -> None:
        if call.invoke.verb != "ack":
            return
        if call.cumulative:
            place = (call.consumer.handle, call.entry.topic)
            self._settled_to[place] = max(self._settled_to.get(place, call.entry), call.entry)
        own = self._batches.get((call.consumer.handle, call.entry))
        if own is None:
            return
        own.unclear = own.unclear or self.tracker.foresight.outcomes.get(call.invoke.op) in REFUSED
        index = call.message.message_id.batch_index
        before = len(own.settled)
        own.settled.update(range(index + 1) if call.cumulative else (index,))
        if before < own.size <= len(own.settled):
            own.completing = call

    def called(self, call: Call) -> None:
        own = self._batches.get((call.consumer.handle, call.entry))
        if own is not None and 0 < len(own.settled) < own.size and own.partial_ns is None:
            own.partial_ns = call.called_ns

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        individual = event.ack_type != "Cumulative" and plain_acks(event) and from_client(event)
        if session is None or session.consumer is None or not individual:
            return
        for place, id in enumerate(event.ids):
            entry = entry_on(session, id)
            batch = self._batches.get((session.consumer.handle, entry))
            if batch is not None and not batch.unclear:
                words = event.ack_sets[place] if place < len(event.ack_sets) else ()
                self._judge(session.consumer, entry, batch, event, partial=any(words))

    def _judge(self, consumer: OpenedConsumer, entry: Entry, batch: _Batch, event: Frame, partial: bool) -> None:
        batch.sent = True
        told = f"{len(batch.settled)} of the {batch.size} messages in entry {entry}"
        if partial:
            self.breach(
                "ack-set-sent",
                f"consumer {consumer.handle} has batch-index acknowledgment off and sent an ack_set for entry {entry} "
                f"at {ms(event.t_ns)}, expected nothing until all {batch.size} messages are acknowledged",
                batch.frame,
                event,
            )
        elif len(batch.settled) < batch.size and not self._behind(consumer, entry):
            self.breach(
                "acked-early",
                f"consumer {consumer.handle} was told to acknowledge {told} and sent an ACK of the whole entry at "
                f"{ms(event.t_ns)}: the other messages can never be redelivered",
                batch.frame,
                event,
            )
        elif batch.completing is not None and self._held_back(consumer, batch, batch.completing.invoke):
            self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        """A batch settled to the last message on this session, long ago, and never acknowledged."""
        consumer = session.consumer
        if consumer is None or not isinstance(event, Frame) or not from_client(event):
            return
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        for (handle, entry), batch in self._batches.items():
            call = batch.completing
            batch.unclear = batch.unclear or event.command == "SEEK"
            if handle != consumer.handle or batch.sent or batch.unclear or call is None or interval_ms is None:
                continue
            completion = call.operation.completion
            if call.cumulative or completion is None or completion.outcome is not Outcome.OK:
                continue
            if batch.frame.seq < session.request.seq:
                continue
            if late("ack-flush", completion.t_ns + interval_ms * MS, event.t_ns):
                self.suspect(
                    "ack-flush",
                    completion.t_ns,
                    event.t_ns,
                    "never-acked",
                    f"consumer {consumer.handle} was told by {ms(completion.t_ns)} to acknowledge all {batch.size} "
                    f"messages of entry {entry} and closed at {ms(event.t_ns)} without an ACK of it",
                    call.invoke,
                    event,
                )

    def _behind(self, consumer: OpenedConsumer, entry: Entry) -> bool:
        """A cumulative ack of a later entry settles all of this one."""
        reached = self._settled_to.get((consumer.handle, entry.topic))
        return reached is not None and entry < reached

    def _held_back(self, consumer: OpenedConsumer, batch: _Batch, completing: Invoke) -> bool:
        """Half settled for so long that a client which sends too early would have."""
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        long_ns = (interval_ms or 0) * MS
        return batch.partial_ns is not None and completing.t_ns - batch.partial_ns >= long_ns

    def _index_ack_off(self, consumer: OpenedConsumer) -> bool:
        if "batch_index_ack" not in self.view.facts.capabilities:
            return True
        return in_force(self.view, consumer, "batch_index_ack") is False
