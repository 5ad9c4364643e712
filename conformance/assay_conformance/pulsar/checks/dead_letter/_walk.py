"""How errands go: one walk through all that happens to messages on their way to letter topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from assay_conformance.checks.consumption import acked_entries, from_client, plain_acks
from assay_conformance.model.event import Event, Frame, Invoke
from assay_conformance.pulsar.checks.dead_letter._errands import Cause, Course, Ended, Errand, Way
from assay_conformance.pulsar.timeline import REDELIVER, Call, Consumer, ConsumerSession, Entry, Timeline, known_owner
from assay_conformance.pulsar.timeline.courses import named_by
from assay_conformance.pulsar.timeline.letters import Address, Letter, LetterRequest


def errands(
    timeline: Timeline,
    causes: Iterable[Cause],
    settled_by: Iterable[tuple[Event, Entry]] = (),
    calls: Iterable[tuple[Event, Call]] = (),
) -> Course:
    """Return what becomes of these messages.

    `settled_by`: what else settles one; `calls`: which of them are unsettled.
    """
    causes, calls = list(causes), list(calls)
    walk = _Errands(timeline)
    return Course(walk.through(causes, settled_by, calls) if causes or calls else [], walk.unsettled)


Step = tuple[Event, Callable[[], Iterable[Ended] | None]]


class _Errands:
    """Those that are under way while events go by."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline, self._letters = timeline, timeline.letters
        self._open: dict[Entry, Errand] = {}
        """Original -> errand."""
        self._carried: dict[str | int, list[Errand]] = {}
        """By `whole` of its last letter: several where their letters are of one batch."""
        self._unasked: dict[Entry, Letter] = {}
        """Original -> the letter of one that was not known to become one: refused again and again, it becomes one for a
        refusal of an earlier delivery."""
        self._settled: set[Entry] = set()
        """What became a letter and was acknowledged for it, as long as it has not come again: an application that
        refuses it once more refuses what is settled."""
        self._acked: set[Entry] = set()
        """By the application."""
        self._asked_for: dict[Entry, Frame] = {}
        self.unsettled: list[Call] = []

    def through(
        self,
        causes: Iterable[Cause],
        settled_by: Iterable[tuple[Event, Entry]],
        calls: Iterable[tuple[Event, Call]],
    ) -> list[Ended]:
        acked = [(ack.call.invoke, ack.entry) for ack in self._timeline.ack_calls]
        steps: list[Step] = [
            *self._requests(),
            *self._posts(),
            *self._frames(),
            *self._ends(),
            *((event, partial(self._is_over_for, self._acked, entry)) for event, entry in acked),
            *((event, partial(self._is_over_for, self._settled, entry)) for event, entry in settled_by),
            *((cause.event, partial(self._begins, cause)) for cause in causes),
            *((event, partial(self._is_called, call)) for event, call in calls),
        ]
        ended: list[Ended] = []
        for _, step in sorted(steps, key=lambda one: one[0].seq):
            ended += step() or ()
        return ended

    # --- an errand begins ---

    def _begins(self, cause: Cause) -> None:
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
        errand = self._open[origin] = Errand(cause.consumer, source, cause.event, cause.since_ns)
        letter = self._unasked.pop(origin, None)
        if letter is not None:
            self._carried.setdefault(letter.whole, []).append(errand)
            errand.letter = letter
            errand.receipt = next((one for one in letter.receipts if one.seq < cause.event.seq), None)

    def _can_become_one(self, source: Entry, origin: Entry) -> bool:
        """Return whether it is stored, no copy of it came in a batch, and it is not settled already."""
        stored, first = self._letters.stored(source), self._letters.stored(origin)
        batched = any(one is not None and one.meta.batch is not None for one in (stored, first))
        return stored is not None and not batched and source not in self._acked and source not in self._settled

    def _is_over_for(self, among: set[Entry], entry: Entry) -> None:
        among.add(entry)
        self._open.pop(self._letters.origin_of(entry), None)

    def _is_called(self, call: Call) -> None:
        settled = call.entry in self._acked or call.entry in self._settled
        if not settled and self._letters.origin_of(call.entry) not in self._open:
            self.unsettled.append(call)

    # --- the producer of letters ---

    def _requests(self) -> Iterator[Step]:
        for one in self._letters.requests:
            yield one.request.frame, partial(self._is_asked_for, one.address)
            if one.request.answer is not None:
                yield one.request.answer, partial(self._is_answered, one, one.request.answer)

    def _unsent(self, address: Address) -> Iterator[Errand]:
        for errand in self._open.values():
            unsent = errand.letter is None and not errand.is_over
            if unsent and errand.consumer.subscription == address.consumer.subscription:
                yield errand

    def _is_asked_for(self, address: Address) -> None:
        for errand in self._unsent(address):
            errand.waits_ns = None

    def _is_answered(self, asked: LetterRequest, answer: Frame) -> None:
        for errand in self._unsent(asked.address):
            if asked.request.frame.command == "PRODUCER":
                errand.waits_ns, errand.is_ready = answer.t_ns, asked.failure is None
            errand.failure = asked.failure or errand.failure

    # --- the letter ---

    def _posts(self) -> Iterator[Step]:
        for letter in self._letters.all:
            yield letter.frame, partial(self._is_posted, letter)
            for receipt in letter.receipts:
                yield receipt, partial(self._is_receipted, letter, receipt)
        for whole, refusals in self._letters.refusals.items():
            for refusal, _ in refusals:
                yield refusal, partial(self._is_refused, whole, refusal)

    def _is_posted(self, letter: Letter) -> None:
        errand = self._with_content_of(letter) if letter.origin is None else self._open.get(letter.origin)
        if errand is not None and letter.refused_before is not None:
            errand.failure, errand.waits_ns = letter.refused_before, letter.frame.t_ns
        elif errand is not None:
            errand.letter, errand.waits_ns, errand.failure, errand.is_over = letter, None, None, False
            self._carried.setdefault(letter.whole, []).append(errand)
        elif letter.origin is not None:
            self._unasked[letter.origin] = letter

    def _with_content_of(self, letter: Letter) -> Errand | None:
        """Return the message of which a letter is a copy that does not name it."""
        contents = {member.payload for member in letter.members}
        for errand in self._open.values():
            original = self._letters.message_of(errand.source)
            if original is not None and contents & {member.payload for member in original.members}:
                return errand
        return None

    def _is_receipted(self, letter: Letter, receipt: Frame) -> None:
        for errand in self._carried.get(letter.whole, ()):
            if errand.letter is letter:
                errand.receipt, errand.waits_ns = receipt, receipt.t_ns

    def _is_refused(self, whole: str | int, refusal: Frame) -> None:
        for errand in self._carried.get(whole, ()):
            if errand.letter is not None and errand.letter.whole == whole:
                errand.failure, errand.letter, errand.receipt, errand.waits_ns = refusal, None, None, refusal.t_ns

    # --- the original ---

    def _frames(self) -> Iterator[Step]:
        sessions = self._timeline.consumer_sessions
        for frame in self._timeline.events.frames("MESSAGE", "ACK", REDELIVER):
            session = sessions.of(frame)
            if session is None:
                continue
            if frame.command == "MESSAGE":
                entries = [Entry(session.topic, id.ledger, id.entry) for id in frame.ids[:1]]
                yield frame, partial(self._settled.difference_update, entries)
            elif from_client(frame) and frame.command == REDELIVER:
                yield frame, partial(self._is_asked_for_again, session, frame)
            elif from_client(frame) and plain_acks(frame):
                yield frame, partial(self._is_acked, session, frame)

    def _is_acked(self, session: ConsumerSession, ack: Frame) -> Iterator[Ended]:
        for entry in acked_entries(session, ack):
            origin = self._letters.origin_of(entry)
            errand = self._open.get(origin)
            if errand is not None and errand.source == entry:
                del self._open[origin]
                self._settled.add(entry)
                yield Ended(replace(errand), Way.ACKED, session, ack)

    def _is_asked_for_again(self, session: ConsumerSession, request: Frame) -> Iterator[Ended]:
        """Yield what a request asks for again.

        One whose letter is under way, or there, is settled by it all the same.
        """
        named = sorted(named_by(request, session)) or [errand.source for errand in self._open.values()]
        for source in [source for source in named if source.topic == session.topic]:
            origin = self._letters.origin_of(source)
            errand = self._open.get(origin)
            if errand is None or errand.source != source or errand.letter is not None:
                continue
            if errand.consumer is known_owner(session, request):
                del self._open[origin]
                before, self._asked_for[source] = self._asked_for.get(source), request
                yield Ended(replace(errand), Way.ASKED_FOR, session, request, before)

    def _ends(self) -> Iterator[Step]:
        for session in self._timeline.consumer_sessions.all:
            for end in self._timeline.consumer_sessions.ends(session):
                yield end, partial(self._is_over, session, end)
        for consumer in self._timeline.consumers:
            if isinstance(consumer.closing, Invoke):
                yield consumer.closing, partial(self._is_closing, consumer, consumer.closing)

    def _is_over(self, session: ConsumerSession, end: Event) -> Iterator[Ended]:
        """Yield what ended with a session: what was not settled comes again by itself.

        Its letter may be under way all the same, and settle it when the consumer is back.
        """
        consumer = known_owner(session, end)
        for errand in self._open.values():
            if errand.source.topic == session.topic and errand.consumer is consumer:
                yield Ended(replace(errand), Way.OVER, session, end)
                errand.waits_ns = None
                errand.is_over = errand.failure is not None or (errand.is_ready and errand.letter is None)

    def _is_closing(self, consumer: Consumer, closing: Invoke) -> Iterator[Ended]:
        for origin, errand in list(self._open.items()):
            if errand.consumer is consumer:
                del self._open[origin]
                session = self._timeline.session_at(consumer, errand.source.topic, closing)
                yield Ended(replace(errand), Way.OVER, session, closing)
