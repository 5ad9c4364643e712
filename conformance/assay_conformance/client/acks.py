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
    """Ignore the result of an acknowledgment without a caller."""


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
        """The greatest cumulative one, when its answer was an error or was lost: the next one sends it again."""
        self._waiting: dict[pb.CommandAck.AckType, list[Ended]] = {_CUMULATIVE: [], _INDIVIDUAL: []}
        """What waits for acknowledgments that have not left. Each kind leaves in commands of its own, and waits for the
        answers to those alone (Java client, PersistentAcknowledgmentsGroupingTracker: currentCumulativeAckFuture,
        currentIndividualAckFuture)."""
        self._asked: list[_Asked] = []
        self._timer: Timer | None = None

    def covers(self, position: Position) -> bool:
        """Return whether this entry is acknowledged already, so that a redelivery of it is not delivered."""
        return (position, 0) <= self._reach or self._individual.get(position, 0) is None

    def open_of(self, position: Position) -> int:
        """Return the messages of this entry, as bits, that no pending acknowledgment settles."""
        bits = self._individual.get(position)
        open_ = -1 if bits is None else bits
        if self._cumulative is not None and self._cumulative[0] == position:
            open_ &= self._cumulative[1] or 0
        return open_

    def individual(self, entry: Entry, index: int | None) -> None:
        """Acknowledge message `index` of the entry, or all of it."""
        entry.unacked &= 0 if index is None else ~(1 << index)
        if not entry.unacked:
            self._individual.update(dict.fromkeys(self._positions_of(entry)))
        elif self._settings.batch_index_ack:
            self._add(entry.position, entry.unacked)

    def _positions_of(self, entry: Entry) -> tuple[Position, ...]:
        return entry.positions

    def cumulative(self, entry: Entry, index: int | None) -> None:
        """Acknowledge everything up to message `index` of the entry, or up to its last."""
        entry.unacked &= ~(-1 if index is None else self._up_to(index))
        if entry.unacked:
            self._reach_into(entry)
        else:
            self._greatest(entry.position, None)

    def _up_to(self, index: int) -> int:
        """Return the messages of a batch up to this one, as bits."""
        return (1 << (index + 1)) - 1

    def _reach_into(self, entry: Entry) -> None:
        """Acknowledge up to the middle of a batch; without batch-index acknowledgment, up to the entry before."""
        ledger, number = entry.position
        if self._settings.batch_index_ack:
            self._greatest(entry.position, entry.unacked)
        elif number > 0:
            self._greatest((ledger, number - 1), None)

    def immediately(self, positions: tuple[Position, ...]) -> None:
        """Acknowledge discarded chunks at once: no other one will be delivered for them."""
        self._individual.update(dict.fromkeys(positions))
        self.flush()

    def issued(self, ended: Ended = ignored, *, cumulative: bool = False) -> None:
        """Finish an operation that has added all its positions; `ended` is called with the broker's answer, or now."""
        kind = _CUMULATIVE if cumulative else _INDIVIDUAL
        if self._awaits_answer:
            self._waiting[kind].append(self._in_time(ended))
        else:
            ended(Done())
        if self._cumulative is None if cumulative else not self._individual:
            self._wait_for_what_left(kind)
        if not self._individual and self._cumulative is None:
            return
        if self._is_due_at_once():
            self.flush()
        else:
            self._gather()

    @property
    def _awaits_answer(self) -> bool:
        return self._settings.ack_receipt

    def _gather(self) -> None:
        """Flush when the interval since the first of the group has passed."""
        if self._timer is None:
            self._timer = self._shared.after(self._interval_ns(), self.flush)

    def _interval_ns(self) -> int:
        return (self._settings.ack_group_ms or DEFAULT_GROUP_MS) * MS

    def _in_time(self, ended: Ended) -> Ended:
        """Return `ended` so that it is called within the operation time-out, with or without a connection.

        The acknowledgment itself stays. No client waits for ever: without a connection the C++ client ends the call
        with its next flush (ConsumerImpl::doImmediateAck), and requests of the Java client have a time-out
        (ClientCnx.newAckForReceipt).
        """
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
        if self._may_leave:
            self._leave()

    @property
    def _may_leave(self) -> bool:
        return self._outlet.ready

    def _leave(self) -> None:
        cumulative, self._cumulative = self._cumulative, None
        individual, self._individual = list(self._individual.items()), {}
        reaching = [] if cumulative is None else [self._cumulative_ack(cumulative, individual)]
        together = self._most_ids()
        starts = range(0, len(individual), together)
        naming = [self._ack(_INDIVIDUAL, individual[start : start + together]) for start in starts]
        if self._settings.ack_receipt and (reaching or naming) and self._outlet.version >= RECEIPTS_SINCE:
            self._ask(_CUMULATIVE, reaching, cumulative)
            self._ask(_INDIVIDUAL, naming, None)
        else:
            for ack in reaching + naming:
                self._outlet.post(ack)
            self._end_unanswered()

    def _cumulative_ack(self, cumulative: tuple[Position, int | None], individual: Ids) -> BaseCommand:
        """Return the command of a cumulative acknowledgment alone; `individual` ones follow in their own command."""
        del individual
        return self._ack(_CUMULATIVE, [cumulative])

    def _most_ids(self) -> int:
        """Return how many ids one ACK names."""
        return 1 if self._outlet.version < SEVERAL_IDS_SINCE else MAX_IDS

    def _end_unanswered(self) -> None:
        """End the operations whose acknowledgments get no answer: they have succeeded."""
        self._end_waiting(None)

    def start_over(self) -> None:
        """Forget what was acknowledged cumulatively: the subscription moves, and may deliver it again."""
        self._reach = _NOWHERE
        self._unsettled = None

    def lost(self) -> None:
        """Fail what waits for an answer: the broker forgot the consumer, and will not answer."""
        asked, self._asked = self._asked, []
        for each in asked:
            self._failed(each)
            self._end_lost(each.ends)

    def _end_lost(self, ends: list[Ended]) -> None:
        self._end(ends, Failed(ErrorClass.TRANSPORT, "the consumer was lost before the broker answered"))

    def drop(self) -> None:
        """Drop what was not sent: the consumer is closed."""
        self.lost()
        self._individual.clear()
        self._cumulative = None
        if self._timer is not None:
            self._timer.cancel()
        self._end_waiting(Failed(ErrorClass.CLOSED, "the consumer was closed"))

    # --- inside ---

    def _add(self, position: Position, bits: int) -> None:
        """Add an entry, or messages of it. Of a batch that came twice, what was acknowledged in either copy counts."""
        pending = self._individual.get(position, bits)
        self._individual[position] = (pending & bits or None) if pending is not None else None

    def _is_due_at_once(self) -> bool:
        return self._settings.ack_group_ms == 0 or len(self._individual) >= self._settings.ack_group_max

    def _greatest(self, position: Position, bits: int | None) -> None:
        reach = _reach_of(position, bits)
        if self._is_reached(reach):
            self._pass_over(position, bits)
        else:
            self._cumulative = (position, bits)
            self._reach = reach
        self._unsettled = None

    def _is_reached(self, reach: tuple[Position, int]) -> bool:
        return reach <= self._reach

    def _pass_over(self, position: Position, bits: int | None) -> None:
        """Pass over a smaller one, but send the greatest again if its answer was an error or was lost."""
        del position, bits
        self._cumulative = self._cumulative or self._unsettled

    def _ack(self, ack_type: pb.CommandAck.AckType, ids: Ids) -> BaseCommand:
        built = command(CommandType.ACK, consumer_id=self._outlet.consumer_id, ack_type=ack_type)
        for position, bits in ids:
            named = message_id(*position)
            if bits is not None:
                named.ack_set.extend(self._ack_set(bits))
            built.ack.message_id.append(named)
        return built

    def _ack_set(self, bits: int) -> list[int]:
        return ack_set_of(bits)

    def _ask(
        self,
        kind: pb.CommandAck.AckType,
        commands: list[BaseCommand],
        cumulative: tuple[Position, int | None] | None,
    ) -> None:
        """Send with request ids; the operations after them end when the last answer is in."""
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
        """End operations for which nothing has to be sent, with the answer of an ACK under way where there is one."""
        ends, self._waiting[kind] = self._waiting[kind], []
        asked = [each for each in self._asked if each.kind == kind]
        if asked:
            asked[-1].ends += ends
        else:
            self._end(ends, None)

    def _failure(self, answer: Frame | Refusal) -> Failed | None:
        if isinstance(answer, Refusal):
            return answer.failed()
        body = answer.body
        return server_refusal(body.error, body.message).failed() if body.HasField("error") else None

    def _end_waiting(self, failed: Failed | None) -> None:
        waiting, self._waiting = self._waiting, {_CUMULATIVE: [], _INDIVIDUAL: []}
        for ends in waiting.values():
            self._end(ends, failed)

    def _end(self, ends: list[Ended], failed: Failed | None) -> None:
        for ended in ends:
            ended(failed or Done())


def _reach_of(position: Position, bits: int | None) -> tuple[Position, int]:
    return position, -(bits or 0).bit_count()


def _numbered(ack: BaseCommand, request_id: int) -> BaseCommand:
    ack.ack.request_id = request_id
    return ack
