"""What becomes of the original: acknowledged with its letter's receipt and not before, redelivered without one.

A message that is to become a letter waits for its client at three places: for the letter to be sent, for it to be sent
anew or given up where that failed, and for the acknowledgment once there is a receipt. Each is bounded. What the broker
takes its time for, the opening of a producer and the receipt, is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    acked_entries,
    entry_on,
    from_client,
    is_torn,
    late,
    number_in_force,
    plain_acks,
    to_client,
)
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Event, Fate, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.checks.dead_letter._send_errors import Refusals, whole
from assay_conformance.pulsar.checks.dead_letter._sending import Address, Letter, LetterCheck

TRANSIENT = ("PersistenceError", "MetadataError", "UnknownError", "ChecksumError", "ServiceNotReady")
"""Errors of a SEND that a producer answers by sending it again: its letter is still under way."""


@dataclass(slots=True, eq=False)
class Errand:
    """One message on its way to a letter topic. `source` is the entry to settle: the original, or a copy that came
    back. `waits` is since when it has been the client's turn; None while it is the broker's. `is_ready`: its letter had
    a producer to go by. `is_over`: its letter was refused, by its own client perhaps, before it left, and the original
    comes again with a new connection; some clients send the letter again, too."""

    consumer: OpenedConsumer
    source: Entry
    cause: Event
    waits: int | None
    allowed_ns: int = 0
    letter: Unit | None = None
    receipt: Frame | None = None
    failure: Frame | None = None
    is_ready: bool = False
    is_over: bool = False

    @property
    def last(self) -> Event:
        return self.receipt or self.failure or self.cause


class Settling(ConsumerCheck, LetterCheck):
    """Judged for messages that came alone in their entry, or as a copy of one that did, and that the application did
    not acknowledge itself. Of a member of a batch a letter tells the entry only, and so it does of all the others."""

    def start(self) -> None:
        super().start()
        self.errands: dict[Entry, Errand] = {}
        """Original -> errand."""
        self._posted_unasked: dict[Entry, Unit] = {}
        """Original -> the letter of one that nobody here knew to become one: refused again and again, it becomes one
        for a refusal of an earlier delivery."""
        self._refusals = Refusals()
        self.settled: set[Entry] = set()
        """What became a letter and was acknowledged for it, as long as it has not come again: an application that
        refuses it once more refuses what is settled."""
        self.asked_to_ack: set[Entry] = set()
        self._torn_letters: set[str] = set()
        """Topics of letters that a fault took on their way, or changed: which receipt is whose, nobody knows."""
        self._repeated_letters: set[str] = set()
        """Topics of letters that a fault repeated: there is a receipt too many, whatever is answered later."""
        self._looking: dict[tuple[int, int], Address] = {}
        self._registering: dict[tuple[int, int], tuple[Address, Frame]] = {}

    def begin(self, consumer: OpenedConsumer, source: Entry, cause: Event, waits: int) -> None:
        origin = self.origin_of(source)
        stored, first = self.stored.get(source), self.stored.get(origin)
        batched = any(one is not None and one.meta.batch is not None for one in (stored, first))
        if stored is None or batched or source in self.asked_to_ack | self.settled:
            return
        earlier = self.errands.get(origin)
        if earlier is not None and earlier.source == source:
            # Refused once more: its letter is under way, or is there and its acknowledgment may be kept with others.
            if earlier.receipt is not None or earlier.letter is not None:
                return
            # Its letter has failed already, and it is on its way back.
            if earlier.failure is not None:
                earlier.waits = waits
                return
        errand = self.errands[origin] = Errand(consumer, source, cause, waits, self._delay_ns(consumer))
        if (letter := self._posted_unasked.pop(origin, None)) is not None:
            errand.letter, errand.receipt = letter, next(iter(letter.receipts), None)

    def asked(self, call: Call) -> None:
        if call.invoke.verb == "ack":
            self.asked_to_ack.add(call.entry)
            self.errands.pop(self.origin_of(call.entry), None)

    # --- the letter ---

    @on(Frame, "SEND")
    def on_its_way(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        self._refusals.sent(event)
        if session is not None and is_torn(event):
            (self._repeated_letters if event.fate is Fate.DUPLICATED else self._torn_letters).add(session.topic)

    @on(Frame, "SEND_ERROR")
    def answered_for(self, event: Frame) -> None:
        """The fault took it, and said so: nothing of it is to be had a receipt for."""
        session = self.tracker.producer_of(event)
        if session is not None and to_client(event):
            self._torn_letters.discard(session.topic)

    @on(Frame, "LOOKUP", "PARTITIONED_METADATA")
    def looking_up(self, event: Frame) -> None:
        address = self.addresses.get(str(event.fields.get("topic", "")))
        if address is not None and from_client(event):
            self._looking[event.conn, event.request_id or 0] = address
            for errand in self._unsent(address):
                errand.waits = None

    @on(Frame, "LOOKUP_RESPONSE", "PARTITIONED_METADATA_RESPONSE")
    def looked_up(self, event: Frame) -> None:
        """One that fails may be tried again, as long as an operation may take, or be the end of the letter."""
        address = self._looking.pop((event.conn, event.request_id or 0), None)
        if address is not None and to_client(event) and event.fields.get("error"):
            for errand in self._unsent(address):
                errand.failure = event

    @on(Frame, "PRODUCER")
    def registering(self, event: Frame) -> None:
        address = self.addresses.get(str(event.fields.get("topic", "")))
        if address is None or not from_client(event):
            return
        self._registering[event.conn, event.request_id or 0] = (address, event)
        for errand in self._unsent(address):
            errand.waits = None

    @on(Frame, "PRODUCER_SUCCESS", "ERROR")
    def registered(self, event: Frame) -> None:
        registration = self._registering.pop((event.conn, event.request_id or 0), None)
        if registration is None or not to_client(event):
            return
        address, request = registration
        if event.fields.get("error") == "ProducerBusy" and event.fate is Fate.PASSED:
            self.taken(address, request, event)
        for errand in self._unsent(address):
            errand.waits = event.t_ns
            errand.is_ready = event.command == "PRODUCER_SUCCESS"
            if event.command == "ERROR":
                errand.failure = event

    def taken(self, address: Address, request: Frame, answer: Frame) -> None:
        """The name of a letter producer is another one's."""

    def posted(self, letter: Letter) -> None:
        errand = self._alike(letter) if letter.origin is None else self.errands.get(letter.origin)
        self._refusals.sent(letter.frame)
        refusal = self._refusals.of(letter.unit)
        if errand is not None and refusal is not None:
            errand.failure, errand.waits = refusal, letter.frame.t_ns
        elif errand is not None:
            errand.letter, errand.waits, errand.failure, errand.is_over = letter.unit, None, None, False
        elif letter.origin is not None:
            self._posted_unasked[letter.origin] = letter.unit

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answered(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        if unit is None or not to_client(event):
            return
        if event.command == "SEND_RECEIPT":
            for errand in self.errands.values():
                if errand.letter is unit:
                    errand.receipt, errand.waits = event, event.t_ns
        elif event.fields.get("error") not in TRANSIENT:
            self._refusals.refused(unit, event)
            for errand in self.errands.values():
                if errand.letter is not None and whole(errand.letter) == whole(unit):
                    errand.failure, errand.letter, errand.receipt, errand.waits = event, None, None, event.t_ns

    # --- the original ---

    @on(Frame, "ACK")
    def acknowledged(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not from_client(event) or not plain_acks(event):
            return
        for entry in acked_entries(session, event):
            origin = self.origin_of(entry)
            errand = self.errands.get(origin)
            if errand is None or errand.source != entry:
                continue
            del self.errands[origin]
            self.settled.add(entry)
            riddles = self._torn_letters | self._repeated_letters
            if errand.letter is not None and errand.letter.line.topic in riddles:
                continue
            if errand.receipt is None:
                self.breach(
                    "acked-first",
                    f"consumer {errand.consumer.handle}: {entry} was acknowledged at {ms(event.t_ns)}, and no copy of "
                    "it had its receipt: if the copy is lost, the message is",
                    errand.last,
                    event,
                )
            else:
                self._judge(errand, session, event)
                self.exercise(event)

    @on(Frame, "MESSAGE")
    def came_again(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and event.dir is Direction.TO_CLIENT and event.ids:
            self.settled.discard(entry_on(session, event.ids[0]))

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def asked_again(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not from_client(event):
            return
        named = {entry_on(session, id) for id in event.ids}
        for origin, errand in list(self.errands.items()):
            asked = errand.source in named or (not event.ids and errand.source.topic == session.topic)
            # One whose letter is under way, or there, is settled by it all the same.
            if asked and errand.consumer is session.consumer and errand.letter is None:
                del self.errands[origin]
                self.given_back(errand, session, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        """Whatever was not settled comes again by itself. Its letter may be under way all the same, and settle it when
        the consumer is back."""
        for errand in self.errands.values():
            if errand.source.topic == session.topic and errand.consumer is session.consumer:
                self._judge(errand, session, event)
                errand.waits = None
                errand.is_over = errand.failure is not None or (errand.is_ready and errand.letter is None)

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for origin, errand in list(self.errands.items()):
            if errand.consumer is consumer:
                del self.errands[origin]
                self._judge(errand, consumer.live_on(errand.source.topic), event)

    # --- inside ---

    def given_back(self, errand: Errand, session: ConsumerSession, event: Frame) -> None:
        """A message on its way to a letter topic is asked for again instead."""
        self._judge(errand, session, event)
        if errand.failure is not None:
            self.exercise(event)

    def _alike(self, letter: Letter) -> Errand | None:
        """Whose copy a letter is that does not tell, by what is in it."""
        contents = {member.payload for member in letter.frame.members}
        for errand in self.errands.values():
            original = self.message_of(errand.source)
            if original is not None and contents & {member.payload for member in original.members}:
                return errand
        return None

    def _delay_ns(self, consumer: OpenedConsumer) -> int:
        keys = ("nack_delay_ms", "nack_backoff_max_ms")
        return MS * max(number_in_force(self.view, consumer, key) or 0 for key in keys)

    def _unsent(self, address: Address) -> Iterator[Errand]:
        for errand in self.errands.values():
            unsent = errand.letter is None and not errand.is_over
            if unsent and errand.consumer.subscription == address.consumer.subscription:
                yield errand

    def _judge(self, errand: Errand, session: ConsumerSession | None, end: Event) -> None:
        """`session`: where the original can be settled. Who is not let in any more settles nothing."""
        if errand.waits is None or session is None or session.ready is None:
            return
        if errand.receipt is None and errand.failure is not None and session.ready.t_ns > errand.failure.t_ns:
            return  # Whoever registers since is sent it again without asking.
        due_ns = max(errand.waits, session.ready.t_ns) + errand.allowed_ns
        if not late("answer", due_ns, end.t_ns):
            return
        if errand.receipt is not None:
            code, what = "not-acked", "its copy had a receipt, and it was not acknowledged"
        elif errand.failure is not None:
            code, what = "not-redelivered", "its copy could not be sent, and it was neither sent again nor asked for"
        else:
            code, what = "not-posted", "no copy of it was sent, and it was not asked for again"
        self.overdue(
            "answer",
            due_ns,
            end.t_ns,
            code,
            f"consumer {errand.consumer.handle}: {errand.source} was to become a letter since {ms(errand.cause.t_ns)}; "
            f"since {ms(errand.waits)} {what} by {ms(end.t_ns)}",
            errand.cause,
            errand.last,
            end,
        )
