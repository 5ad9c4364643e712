"""Acknowledgments on their way to the broker.

Individual ones gather until the group's interval has passed since the first, or until the group is full; of cumulative
ones the greatest counts. A flush sends the cumulative one, then all individual ones in one command. Without a
connection everything stays until the consumer is back, and goes out before the first FLOW, so that the broker does not
deliver again what was acknowledged. Without batch-index acknowledgment an entry is acknowledged when its last message
is; a cumulative one inside a batch acknowledges the entry before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from assay_conformance.client.entries import Entry, Position, ack_set_of
from assay_conformance.client.mutations import Mutation
from assay_conformance.client.refusal import Refusal, server_refusal
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import BaseCommand, CommandType, Frame, command, message_id
from assay_conformance.wire import pulsar_pb2 as pb

DEFAULT_GROUP_MS = 100

MAX_IDS = 1000
"""In one ACK or REDELIVER command."""

_CUMULATIVE, _INDIVIDUAL = pb.CommandAck.Cumulative, pb.CommandAck.Individual

_NOWHERE: tuple[Position, int] = ((-1, -1), 0)

SEVERAL_IDS_SINCE = 12
RECEIPTS_SINCE = 17
"""Protocol versions from which an ACK may name several ids, and ask for an answer."""

Ids = list[tuple[Position, int | None]]
"""Positions, each with the bits of an ack_set or None for the whole entry."""


class Outlet(Protocol):
    """The consumer, as far as acknowledgments leave through it."""

    consumer_id: int

    @property
    def ready(self) -> bool: ...

    @property
    def version(self) -> int:
        """The protocol version of its connection."""
        ...

    def post(self, built: BaseCommand) -> None: ...

    def ask(self, build: Callable[[int], BaseCommand], answered: Callable[[Frame | Refusal], None]) -> None: ...


Ended = Callable[[Result], None]


def ignored(_result: Result) -> None:
    """Of what nobody waits for."""


@dataclass(slots=True, eq=False)
class _Asked:
    """What waits for acknowledgments that are with the broker; `left` of its answers are missing."""

    kind: pb.CommandAck.AckType
    ends: list[Ended]
    left: int
    cumulative: tuple[Position, int | None] | None
    failed: Failed | None = None


class AckGroup:
    """The acknowledgments of one consumer. Operations complete at once, or on the broker's receipt where asked for."""

    def __init__(self, shared: Shared, settings: ConsumerSettings, outlet: Outlet) -> None:
        self._shared = shared
        self._settings = settings
        self._outlet = outlet
        self._individual: dict[Position, int | None] = {}
        self._cumulative: tuple[Position, int | None] | None = None
        self._reach = _NOWHERE
        """How far cumulative acknowledgments have come: an entry, and minus the number of its messages left over."""
        self._unsettled: tuple[Position, int | None] | None = None
        """The greatest cumulative one, when its answer was an error or was lost: whoever asks again has it sent."""
        self._waiting: dict[pb.CommandAck.AckType, list[Ended]] = {_CUMULATIVE: [], _INDIVIDUAL: []}
        """What waits for acknowledgments that have not left. Each kind leaves in commands of its own, and waits for the
        answers to those alone (Java client, PersistentAcknowledgmentsGroupingTracker: currentCumulativeAckFuture,
        currentIndividualAckFuture)."""
        self._asked: list[_Asked] = []
        self._timer: Timer | None = None

    def covers(self, position: Position) -> bool:
        """Whether this entry is acknowledged already, so that a redelivery of it is none of the application's."""
        if self._shared.mutated(Mutation.HANDS_OVER_ACKED):
            return False
        return (position, 0) <= self._reach or self._individual.get(position, 0) is None

    def open_of(self, position: Position) -> int:
        """The messages of this entry, as bits, that no acknowledgment under way settles."""
        bits = self._individual.get(position)
        open_ = -1 if bits is None else bits
        if self._cumulative is not None and self._cumulative[0] == position:
            open_ &= self._cumulative[1] or 0
        return open_

    def individual(self, entry: Entry, index: int | None) -> None:
        entry.unacked &= 0 if index is None else ~(1 << index)
        if entry.unacked and self._shared.mutated(Mutation.ACKS_ENTRY_ON_FIRST_MEMBER):
            entry.unacked = 0
        if not entry.unacked:
            last_only = self._shared.mutated(Mutation.ACKS_LAST_CHUNK_ONLY)
            self._individual.update(dict.fromkeys(entry.positions[-1:] if last_only else entry.positions))
        elif self._settings.batch_index_ack:
            self._add(entry.position, entry.unacked)

    def cumulative(self, entry: Entry, index: int | None) -> None:
        cleared = -1 if index is None else (1 << (index + 1)) - 1
        if index and self._shared.mutated(Mutation.CUMULATIVE_CLEARS_ONE_BIT):
            cleared = 1 << index
        entry.unacked &= ~cleared
        ledger, number = entry.position
        if entry.unacked and self._shared.mutated(Mutation.CUMULATIVE_SKIPS_BATCH):
            return
        if not entry.unacked or self._shared.mutated(Mutation.CUMULATIVE_TAKES_WHOLE_BATCH):
            self._greatest(entry.position, None)
        elif self._settings.batch_index_ack:
            self._greatest(entry.position, entry.unacked)
        elif number > 0:
            self._greatest((ledger, number - 1), None)

    def immediately(self, positions: tuple[Position, ...]) -> None:
        """Chunks nobody will ask for again."""
        self._individual.update(dict.fromkeys(positions))
        self.flush()

    def issued(self, ended: Ended = ignored, *, cumulative: bool = False) -> None:
        """An operation has added all it has to add; `ended` hears of its end, by the broker's answer or at once."""
        kind = _CUMULATIVE if cumulative else _INDIVIDUAL
        if self._settings.ack_receipt and not self._shared.mutated(Mutation.RECEIPT_NOT_AWAITED):
            self._waiting[kind].append(self._in_time(ended))
        else:
            ended(Done())
        if self._cumulative is None if cumulative else not self._individual:
            self._wait_for_what_left(kind)
        if not self._individual and self._cumulative is None:
            return
        if self._is_due_at_once():
            self.flush()
        elif self._timer is None or self._shared.mutated(Mutation.ACK_TIMER_REARMED):
            if self._timer is not None:
                self._timer.cancel()
            late_ns = self._shared.lateness_ns(Mutation.ACK_FLUSH_LATE)
            interval_ms = self._settings.ack_group_ms or DEFAULT_GROUP_MS
            self._timer = self._shared.after(interval_ms * MS + late_ns, self.flush)

    def _in_time(self, ended: Ended) -> Ended:
        """The same, and over when an operation's time is, with or without a connection; the acknowledgment itself
        stays. No client waits for ever: without a connection the C++ client ends the call with its next flush
        (ConsumerImpl::doImmediateAck), and requests of the Java client have a time-out (ClientCnx.newAckForReceipt)."""
        open_ = [ended]

        def end(result: Result) -> None:
            timer.cancel()
            if open_:
                open_.pop()(result)

        late = Failed(ErrorClass.TIMEOUT, "the broker did not answer in time")
        timer = self._shared.after(self._shared.settings.operation_timeout_ms * MS, lambda: end(late))
        return end

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._outlet.ready:
            if self._shared.mutated(Mutation.CLEARS_ACKS_WHILE_AWAY):
                self._individual.clear()
                self._cumulative = None
            return
        cumulative, self._cumulative = self._cumulative, None
        individual, self._individual = list(self._individual.items()), {}
        alone = not self._shared.mutated(Mutation.CUMULATIVE_TAKES_OTHERS_ALONG)
        named = [] if cumulative is None else [cumulative] if alone else [cumulative, *individual]
        reaching = [self._ack(_CUMULATIVE, named)] if named else []
        single = self._outlet.version < SEVERAL_IDS_SINCE or self._shared.mutated(Mutation.ACKS_ONE_BY_ONE)
        together = 1 if single else MAX_IDS
        starts = range(0, len(individual), together)
        naming = [self._ack(_INDIVIDUAL, individual[start : start + together]) for start in starts]
        if self._settings.ack_receipt and (reaching or naming) and self._outlet.version >= RECEIPTS_SINCE:
            self._ask(_CUMULATIVE, reaching, cumulative)
            self._ask(_INDIVIDUAL, naming, None)
        else:
            for ack in reaching + naming:
                self._outlet.post(ack)
            if not self._shared.mutated(Mutation.AWAITS_OLD_BROKER):
                self._end_waiting(None)

    def start_over(self) -> None:
        """The subscription moves: what was acknowledged cumulatively may come again."""
        self._reach = _NOWHERE
        self._unsettled = None

    def lost(self) -> None:
        """The broker forgot the consumer: receipts that had not come never will."""
        asked, self._asked = self._asked, []
        for each in asked:
            self._failed(each)
            lost = Failed(ErrorClass.TRANSPORT, "the consumer was lost before the broker answered")
            self._end(each.ends, None if self._shared.mutated(Mutation.LOST_RECEIPT_SUCCEEDS) else lost)

    def drop(self) -> None:
        """The consumer is gone: what was not sent never will be."""
        self.lost()
        self._individual.clear()
        self._cumulative = None
        if self._timer is not None:
            self._timer.cancel()
        self._end_waiting(Failed(ErrorClass.CLOSED, "the consumer was closed"))

    # --- inside ---

    def _add(self, position: Position, bits: int) -> None:
        """Of a batch that came twice each copy has bits of its own, and what either settles is settled."""
        pending = self._individual.get(position, bits)
        self._individual[position] = (pending & bits or None) if pending is not None else None

    def _is_due_at_once(self) -> bool:
        if self._settings.ack_group_ms == 0:
            return not self._shared.mutated(Mutation.ZERO_INTERVAL_WAITS)
        full = len(self._individual) >= self._settings.ack_group_max
        return full and not self._shared.mutated(Mutation.FULL_GROUP_WAITS)

    def _greatest(self, position: Position, bits: int | None) -> None:
        reach = _reach_of(position, bits)
        if reach <= self._reach and not self._shared.mutated(Mutation.CUMULATIVE_KEEPS_LAST):
            if self._shared.mutated(Mutation.SENDS_SMALLER_CUMULATIVE):
                self._outlet.post(self._ack(pb.CommandAck.Cumulative, [(position, bits)]))
            self._cumulative = self._cumulative or self._unsettled
            self._unsettled = None
            return
        self._unsettled = None
        self._cumulative = (position, bits)
        self._reach = reach

    def _ack(self, ack_type: pb.CommandAck.AckType, ids: Ids) -> BaseCommand:
        built = command(CommandType.ACK, consumer_id=self._outlet.consumer_id, ack_type=ack_type)
        for position, bits in ids:
            named = message_id(*position)
            if bits is not None:
                inverted = self._shared.mutated(Mutation.ACK_SET_INVERTED)
                named.ack_set.extend(ack_set_of(~bits & ((1 << bits.bit_length()) - 1) if inverted else bits))
            built.ack.message_id.append(named)
        return built

    def _ask(
        self,
        kind: pb.CommandAck.AckType,
        commands: list[BaseCommand],
        cumulative: tuple[Position, int | None] | None,
    ) -> None:
        """Send with request ids; the operations behind them end when the last answer is in."""
        if not commands:
            return
        asked = _Asked(kind, self._waiting[kind], len(commands), cumulative)
        self._waiting[kind] = []
        self._asked.append(asked)

        def answered(answer: Frame | Refusal) -> None:
            asked.left -= 1
            asked.failed = asked.failed or self._failure(answer)
            if asked.left == 0 and asked in self._asked:
                self._asked.remove(asked)
                if asked.failed:
                    self._failed(asked)
                self._end(asked.ends, asked.failed)

        for built in commands:
            self._outlet.ask(lambda request_id, ack=built: _numbered(ack, request_id), answered)  # type: ignore[misc]

    def _failed(self, asked: _Asked) -> None:
        if asked.cumulative is not None and _reach_of(*asked.cumulative) == self._reach:
            self._unsettled = asked.cumulative

    def _wait_for_what_left(self, kind: pb.CommandAck.AckType) -> None:
        """Nothing is to be sent: all of it is acknowledged, or on its way, and then its answer is this one's, too."""
        ends, self._waiting[kind] = self._waiting[kind], []
        asked = [each for each in self._asked if each.kind == kind]
        if asked and not self._shared.mutated(Mutation.COVERED_ACK_ENDS_AT_ONCE):
            asked[-1].ends += ends
        else:
            self._end(ends, None)

    def _failure(self, answer: Frame | Refusal) -> Failed | None:
        if isinstance(answer, Refusal):
            return answer.failed()
        body = answer.body
        if self._shared.mutated(Mutation.REFUSED_RECEIPT_SUCCEEDS) and not body.message:
            return None
        return server_refusal(body.error, body.message).failed() if body.HasField("error") else None

    def _end_waiting(self, failed: Failed | None) -> None:
        waiting, self._waiting = self._waiting, {_CUMULATIVE: [], _INDIVIDUAL: []}
        for ends in waiting.values():
            self._end(ends, failed)

    def _end(self, ends: list[Ended], failed: Failed | None) -> None:
        first = self._settings.ack_receipt and self._shared.mutated(Mutation.RECEIPT_ENDS_ONE_CALL)
        for ended in ends[:1] if first else ends:
            ended(failed or Done())


def _reach_of(position: Position, bits: int | None) -> tuple[Position, int]:
    return position, -(bits or 0).bit_count()


def _numbered(ack: BaseCommand, request_id: int) -> BaseCommand:
    ack.ack.request_id = request_id
    return ack
