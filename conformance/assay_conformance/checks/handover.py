"""Messages that reached a client, against those it handed to its application."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import View, ms, on
from assay_conformance.checks.consumption import (
    TimedCheck,
    buries,
    entry_on,
    is_acked,
    is_dead_letter,
    is_open,
    late,
)
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer, Operation
from assay_conformance.model.event import Completion, Frame, Outcome, Received
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.readers import begins_at, is_reader


@dataclass(frozen=True, slots=True)
class Offer:
    """A whole message that reached the client and belongs to the application."""

    session: ConsumerSession
    frame: Frame
    entry: Entry
    index: int

    @property
    def is_void(self) -> bool:
        """The client has asked for everything again since: this copy may be gone."""
        again = self.session.all_again
        return again is not None and again.seq > self.frame.seq

    @property
    def is_unsure(self) -> bool:
        """Since it came, another consumer may have written a SUBSCRIBE of this topic: deliveries have no known
        consumer."""
        consumer = self.session.consumer
        return consumer is None or self.session.topic in consumer.unsure


class Handover:
    """Messages that reached the client against those the application got.

    A receive that ended short, although an offered message had been with the client for longer than any answer takes,
    shows the message withheld. What the application acknowledged, before or since, a client may drop when it comes
    again: a cumulative ack that was lost with its connection covers what the broker delivers once more. So may one who
    buries drop what became a letter, or comes once more than it may and is to become one. Nor is the message owed that
    the application sought behind, and so far not those of its batch; nor what stands where a session begins: a reader
    that comes back names what it has read last. What it has read is not owed to it again, whoever asked for it.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._transient = {topic.name for topic in view.case.topology.topics if not topic.persistent}
        self._offers: dict[tuple[int, Entry, int], Offer] = {}
        self._handed: set[tuple[int, Entry]] = set()
        """Entries of consumers that bury, as soon as one of their messages was handed over."""
        self._burying: dict[int, bool] = {}
        """Consumer handle -> whether it does."""
        self._limits: dict[int, int] = {}
        """Connection -> the largest message, as its broker named it."""

    def connected(self, connected: Frame) -> None:
        """A CONNECTED as it arrived."""
        limit = connected.fields.get("max_message_size")
        if connected.to_receiver and limit:
            self._limits[connected.conn] = int(limit)

    def offer(self, session: ConsumerSession, frame: Frame) -> None:
        """All messages of a MESSAGE frame that is whole: unbatched, a batch, or the last chunk of a joined message."""
        # A non-persistent topic numbers its entries from the start whenever it is loaded: an id says nothing there.
        if session.consumer is None or base_topic(session.topic) in self._transient or session.is_left_over(frame):
            return
        entry = entry_on(session, frame.ids[0])
        if (entry.ledger, entry.entry) in session.consumer.sought or begins_at(session, entry):
            return
        if is_dead_letter(self._view, session.consumer, frame):
            return
        limit = self._limits.get(frame.conn)
        if limit is not None and _size_of(frame) > limit:
            # Larger than the max_message_size that its broker named: the client may doubt it.
            return
        for index in range(frame.meta.batch) if frame.meta is not None and frame.meta.batch else (-1,):
            compacted = 0 <= index < len(frame.members) and frame.members[index].compacted_out
            if not compacted and is_open(frame, index):
                self._offers[session.consumer.handle, entry, index] = Offer(session, frame, entry, index)

    def received(self, consumer: OpenedConsumer, message: Received) -> Offer | None:
        """The offer this delivery takes up."""
        burying = self._burying.get(consumer.handle)
        if burying is None:
            burying = self._burying[consumer.handle] = buries(self._view, consumer)
        entry = self._view.tracker.entries.get(message.seq) if burying or self._offers else None
        if entry is None:
            return None
        if burying:
            self._handed.add((consumer.handle, entry))
        index = message.message_id.batch_index
        # Of a batch of one, clients say that it is no batch, or the other way round.
        places = (index, -1 - index) if index in (0, -1) else (index,)
        keys = [(consumer.handle, entry, place) for place in places]
        return next((self._offers.pop(key) for key in keys if key in self._offers), None)

    def asked_again(self, session: ConsumerSession, frame: Frame) -> None:
        """The client asks for everything again, and lets go of what it had not handed over."""
        if not frame.ids:
            self._offers = {key: offer for key, offer in self._offers.items() if offer.session is not session}

    def withheld(self, receive: Operation) -> list[Offer]:
        """What a receive that just ended short should have brought."""
        completion, asked = receive.completion, int(receive.invoke.args.get("count", 1))
        if completion is None or completion.outcome is not Outcome.OK or (completion.count or 0) >= asked:
            return []
        return [
            offer
            for (handle, _, _), offer in self._offers.items()
            if handle == receive.invoke.handle
            and offer.session.ended is None
            and not offer.is_void
            and not offer.is_unsure
            and not self._is_letter(offer)
            and not self._is_read(offer)
            and late("answer", offer.frame.t_ns, completion.t_ns)
            and not is_acked(self._view.tracker, handle, offer.entry)
        ]

    def _is_read(self, offer: Offer) -> bool:
        """It goes to a reader that is at it, or beyond it."""
        if offer.session.consumer is None or not is_reader(offer.session):
            return False
        received = reversed(self._view.tracker.received.get(offer.session.consumer.handle, ()))
        entries = (self._view.tracker.entries.get(message.seq) for message in received)
        last = next((entry for entry in entries if entry is not None and entry.topic == offer.entry.topic), None)
        return last is not None and last >= offer.entry

    def _is_letter(self, offer: Offer) -> bool:
        """It had been handed over before, to a consumer that sends letters: one may have left since."""
        return offer.session.consumer is not None and (offer.session.consumer.handle, offer.entry) in self._handed


def _size_of(frame: Frame) -> int:
    """What counts against a broker's limit: the body; that of a batch holds the headers of its messages, too."""
    is_batch = frame.meta is not None and frame.meta.batch
    return frame.size if is_batch else sum(member.size for member in frame.members)


class HandoverCheck(TimedCheck):
    """A check of what became of each offered message; one that is withheld is a breach."""

    def start(self) -> None:
        self.handover = Handover(self.view)

    def handed(self, offer: Offer, event: Received) -> None:
        """The application got it."""

    def what(self, offer: Offer) -> str:
        """What a message of the check's kind is, in a few words."""
        raise NotImplementedError

    def withheld(self, offer: Offer, event: Completion) -> None:
        """The application did not get it, as this receive shows, which ended short."""
        self.overdue(
            "answer",
            offer.frame.t_ns,
            event.t_ns,
            "not-delivered",
            f"{offer.entry}, {self.what(offer)}, arrived at consumer {event.handle} at {ms(offer.frame.t_ns)}; "
            f"expected it to be received; a receive ended without it at {ms(event.t_ns)}",
            offer.frame,
            event,
        )

    @on(Frame, "CONNECTED")
    def _connected(self, event: Frame) -> None:
        self.handover.connected(event)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def _everything_again(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and event.from_sender:
            self.handover.asked_again(session, event)

    @on(Received)
    def _received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        offer = None if consumer is None else self.handover.received(consumer, event)
        if offer is not None:
            self.handed(offer, event)

    @on(Completion, "receive")
    def _receive_ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        for offer in self.handover.withheld(operation) if operation is not None else ():
            self.withheld(offer, event)
