"""One walk through everything that happens to messages on their way to letter topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from assay_conformance.checks.consumption import acked_entries, from_client, plain_acks
from assay_conformance.model.event import Event, Frame, Invoke
from assay_conformance.pulsar.checks.dead_letter._transfers import (
    Cause,
    EndedTransfer,
    Transfer,
    TransferEnd,
    TransferOutcomes,
)
from assay_conformance.pulsar.timeline import REDELIVER, Call, Consumer, ConsumerSession, Entry, Timeline, known_owner
from assay_conformance.pulsar.timeline.letters import Address, Letter, LetterRequest
from assay_conformance.pulsar.timeline.moments import named_by


def transfers(
    timeline: Timeline,
    causes: Iterable[Cause],
    settled_by: Iterable[tuple[Event, Entry]] = (),
    calls: Iterable[tuple[Event, Call]] = (),
) -> TransferOutcomes:
    """Return how the transfer of each of these messages ended.

    `settled_by`: events that settle a message in another way; `calls`: those of which `unsettled` is asked.
    """
    causes, calls = list(causes), list(calls)
    walk = _Transfers(timeline)
    return TransferOutcomes(walk.through(causes, settled_by, calls) if causes or calls else [], walk.unsettled)


Step = tuple[Event, Callable[[], Iterable[EndedTransfer] | None]]


class _Transfers:
    """The transfers that are under way, while the walk goes from event to event."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline, self._letters = timeline, timeline.letters
        self._open: dict[Entry, Transfer] = {}
        """Original -> transfer."""
        self._carried: dict[str | int, list[Transfer]] = {}
        """By `whole` of its last letter: several where their letters are of one batch."""
        self._unasked: dict[Entry, Letter] = {}
        """Original -> the letter of one that was not known to become one: refused again and again, it becomes one for a
        refusal of an earlier delivery."""
        self._settled: set[Entry] = set()
        """Messages that became a letter and were acknowledged, until they come again: one more nack has no effect."""
        self._acked: set[Entry] = set()
        """By the application."""
        self._asked_for: dict[Entry, Frame] = {}
        self.unsettled: list[Call] = []

    def through(
        self,
        causes: Iterable[Cause],
        settled_by: Iterable[tuple[Event, Entry]],
        calls: Iterable[tuple[Event, Call]],
    ) -> list[EndedTransfer]:
        acked = [(ack.call.invoke, ack.entry) for ack in self._timeline.ack_calls]
        steps: list[Step] = [
            *self._request_steps(),
            *self._letter_steps(),
            *self._frame_steps(),
            *self._end_steps(),
            *((event, partial(self._on_settled, self._acked, entry)) for event, entry in acked),
            *((event, partial(self._on_settled, self._settled, entry)) for event, entry in settled_by),
            *((cause.event, partial(self._on_cause, cause)) for cause in causes),
            *((event, partial(self._on_nack, call)) for event, call in calls),
        ]
        ended: list[EndedTransfer] = []
        for _, step in sorted(steps, key=lambda one: one[0].seq):
            ended += step() or ()
        return ended

    # --- a transfer begins ---

    def _on_cause(self, cause: Cause) -> None:
        source, origin = cause.source, self._letters.origin_of(cause.source)
        earlier = self._open.get(origin)
        if not self._can_become_one(source, origin) or (cause.is_new and earlier is not None):
            return
        if earlier is not None and earlier.source == source:
            # Refused once more: its letter is under way, or is there and its acknowledgment may be kept with others.
            if earlier.receipt is not None or earlier.letter is not None:
                return
            # Its letter has failed already, and it is on its way back.
            if earlier.failure is not None:
                earlier.waits_ns = cause.since_ns
                return
        transfer = self._open[origin] = Transfer(cause.consumer, source, cause.event, cause.since_ns)
        letter = self._unasked.pop(origin, None)
        if letter is not None:
            self._carried.setdefault(letter.whole, []).append(transfer)
            transfer.letter = letter
            transfer.receipt = next((one for one in letter.receipts if one.seq < cause.event.seq), None)

    def _can_become_one(self, source: Entry, origin: Entry) -> bool:
        """Return whether it is stored, no copy of it came in a batch, and it is not settled already."""
        stored, first = self._letters.stored(source), self._letters.stored(origin)
        batched = any(one is not None and one.meta.batch is not None for one in (stored, first))
        return stored is not None and not batched and source not in self._acked and source not in self._settled

    def _on_settled(self, among: set[Entry], entry: Entry) -> None:
        among.add(entry)
        self._open.pop(self._letters.origin_of(entry), None)

    def _on_nack(self, call: Call) -> None:
        settled = call.entry in self._acked or call.entry in self._settled
        if not settled and self._letters.origin_of(call.entry) not in self._open:
            self.unsettled.append(call)

    # --- the producer of letters ---

    def _request_steps(self) -> Iterator[Step]:
        for one in self._letters.requests:
            yield one.request.frame, partial(self._on_producer_request, one.address)
            if one.request.answer is not None:
                yield one.request.answer, partial(self._on_producer_answer, one, one.request.answer)

    def _unsent(self, address: Address) -> Iterator[Transfer]:
        for transfer in self._open.values():
            unsent = transfer.letter is None and not transfer.is_over
            if unsent and transfer.consumer.subscription == address.consumer.subscription:
                yield transfer

    def _on_producer_request(self, address: Address) -> None:
        for transfer in self._unsent(address):
            transfer.waits_ns = None

    def _on_producer_answer(self, asked: LetterRequest, answer: Frame) -> None:
        for transfer in self._unsent(asked.address):
            if asked.request.frame.command == "PRODUCER":
                transfer.waits_ns, transfer.is_ready = answer.t_ns, asked.failure is None
            elif transfer.failure is not None and transfer.failure.command == "SEND_ERROR":
                # A reader of the letters may have asked: it is the client's turn again.
                transfer.waits_ns = answer.t_ns
            transfer.failure = asked.failure or transfer.failure

    # --- the letter ---

    def _letter_steps(self) -> Iterator[Step]:
        for letter in self._letters.all:
            yield letter.frame, partial(self._on_letter, letter)
            for receipt in letter.receipts:
                yield receipt, partial(self._on_receipt, letter, receipt)
        for whole, refusals in self._letters.refusals.items():
            for refusal, _ in refusals:
                yield refusal, partial(self._on_send_error, whole, refusal)

    def _on_letter(self, letter: Letter) -> None:
        transfer = self._with_content_of(letter) if letter.origin is None else self._open.get(letter.origin)
        if transfer is not None and letter.refused_before is not None:
            transfer.failure, transfer.waits_ns = letter.refused_before, letter.frame.t_ns
        elif transfer is not None:
            transfer.letter, transfer.waits_ns, transfer.failure, transfer.is_over = letter, None, None, False
            self._carried.setdefault(letter.whole, []).append(transfer)
        elif letter.origin is not None:
            self._unasked[letter.origin] = letter

    def _with_content_of(self, letter: Letter) -> Transfer | None:
        """Return the transfer of the message whose content a letter has that does not name its original."""
        contents = {member.payload for member in letter.members}
        for transfer in self._open.values():
            original = self._letters.message_of(transfer.source)
            if original is not None and contents & {member.payload for member in original.members}:
                return transfer
        return None

    def _on_receipt(self, letter: Letter, receipt: Frame) -> None:
        for transfer in self._carried.get(letter.whole, ()):
            if transfer.letter is letter:
                transfer.receipt, transfer.waits_ns = receipt, receipt.t_ns

    def _on_send_error(self, whole: str | int, refusal: Frame) -> None:
        for transfer in self._carried.get(whole, ()):
            if transfer.letter is not None and transfer.letter.whole == whole:
                transfer.failure, transfer.letter, transfer.receipt, transfer.waits_ns = (
                    refusal,
                    None,
                    None,
                    refusal.t_ns,
                )

    # --- the original ---

    def _frame_steps(self) -> Iterator[Step]:
        sessions = self._timeline.consumer_sessions
        for frame in self._timeline.events.frames("MESSAGE", "ACK", REDELIVER):
            session = sessions.of(frame)
            if session is None:
                continue
            if frame.command == "MESSAGE":
                entries = [Entry(session.topic, id.ledger, id.entry) for id in frame.ids[:1]]
                yield frame, partial(self._settled.difference_update, entries)
            elif from_client(frame) and frame.command == REDELIVER:
                yield frame, partial(self._on_redelivery_request, session, frame)
            elif from_client(frame) and plain_acks(frame):
                yield frame, partial(self._on_ack, session, frame)

    def _on_ack(self, session: ConsumerSession, ack: Frame) -> Iterator[EndedTransfer]:
        for entry in acked_entries(session, ack):
            origin = self._letters.origin_of(entry)
            transfer = self._open.get(origin)
            if transfer is not None and transfer.source == entry:
                del self._open[origin]
                self._settled.add(entry)
                yield EndedTransfer(replace(transfer), TransferEnd.ACKED, session, ack)

    def _on_redelivery_request(self, session: ConsumerSession, request: Frame) -> Iterator[EndedTransfer]:
        """Yield the transfers that a redelivery request ends.

        A message whose letter is under way, or stored, is settled by that all the same.
        """
        named = sorted(named_by(request, session)) or [transfer.source for transfer in self._open.values()]
        for source in [source for source in named if source.topic == session.topic]:
            origin = self._letters.origin_of(source)
            transfer = self._open.get(origin)
            if transfer is None or transfer.source != source or transfer.letter is not None:
                continue
            if transfer.consumer is known_owner(session, request):
                del self._open[origin]
                before, self._asked_for[source] = self._asked_for.get(source), request
                yield EndedTransfer(replace(transfer), TransferEnd.REDELIVERY_REQUESTED, session, request, before)

    def _end_steps(self) -> Iterator[Step]:
        for session in self._timeline.consumer_sessions.all:
            for end in self._timeline.consumer_sessions.ends(session):
                yield end, partial(self._on_session_end, session, end)
        for consumer in self._timeline.consumers:
            if isinstance(consumer.closing, Invoke):
                yield consumer.closing, partial(self._on_close, consumer, consumer.closing)

    def _on_session_end(self, session: ConsumerSession, end: Event) -> Iterator[EndedTransfer]:
        """Yield the transfers that a session's end interrupts: the broker redelivers what was not settled.

        Its letter may be under way all the same, and settle it when the consumer is back.
        """
        consumer = known_owner(session, end)
        for transfer in self._open.values():
            if transfer.source.topic == session.topic and transfer.consumer is consumer:
                yield EndedTransfer(replace(transfer), TransferEnd.OVER, session, end)
                transfer.waits_ns = None
                transfer.is_over = transfer.failure is not None or (transfer.is_ready and transfer.letter is None)

    def _on_close(self, consumer: Consumer, closing: Invoke) -> Iterator[EndedTransfer]:
        for origin, transfer in list(self._open.items()):
            if transfer.consumer is consumer:
                del self._open[origin]
                session = self._timeline.session_at(consumer, transfer.source.topic, closing)
                yield EndedTransfer(replace(transfer), TransferEnd.OVER, session, closing)
