"""Permits after the first: how many a consumer grants, when it grants more, and what a broker does with them.

All of it is one ledger a session: what the consumer granted, what it was charged for, what its application took.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay_conformance.checks.base import Check, View, listening, on, tell
from assay_conformance.checks.consumption import ConsumerCheck, bits_of, from_client, number_in_force, to_client
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Frame, Received
from assay_conformance.model.topic_names import is_partition


def queue_of(view: View, session: ConsumerSession) -> int | None:
    """How many messages the receiver queue behind a session holds, None where that is not told.

    Consumers of several topics or partitions share a queue among them in ways of their own, and one that was paused
    does not fill it.
    """
    consumer = session.consumer
    if consumer is None or len(consumer.topics) != 1 or is_partition(session.topic) or consumer.paused:
        return None
    return number_in_force(view, consumer, "receiver_queue_size") or None


def charged(frame: Frame) -> int:
    """How many permits a MESSAGE costs: one a message, those its ack_set takes out not among them."""
    count, words = frame.messages, frame.ack_sets[0] if frame.ack_sets else ()
    return (bits_of(words) & (1 << count) - 1).bit_count() if words else count


@dataclass(slots=True)
class Ledger:
    """Of one session, as the client's side of the wire shows it. `taken` by the application and not granted again; a
    grant may be seen before the deliveries that led to it."""

    queue: int
    before: int = 0
    """Messages that its application had got when it began."""
    first: Frame | None = None
    granted: int = 0
    charged: int = 0
    taken: int = 0
    ripe: Received | None = None
    """The delivery that made half a queue taken."""
    last: Frame | None = None
    came: Frame | None = None
    """The last MESSAGE."""
    filtered: int = 0
    """Messages that ack_sets took out of batches; they were not charged."""
    last_filtered: Frame | None = None
    garbled: bool = False
    """A batch came whose checksum does not fit: nobody can trust it to say how many permits it cost."""

    @property
    def outstanding(self) -> int:
        return self.granted - self.charged

    @property
    def refill(self) -> int:
        """Half the queue, as generously as any client rounds it."""
        return max(1, -(-self.queue // 2))


class Ledgers:
    """Of every session whose queue size is told."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._known: dict[int, Ledger] = {}

    def of(self, session: ConsumerSession | None) -> Ledger | None:
        if session is None or session.ready is None:
            return None
        known, consumer = self._known.get(session.request.seq), session.consumer
        if known is not None:
            return known if consumer is not None and not consumer.paused else None
        queue = queue_of(self._view, session)
        if queue is None or consumer is None:
            return None
        received = self._view.tracker.received.get(consumer.handle, ())
        known = self._known[session.request.seq] = Ledger(queue, before=len(received))
        return known


class PermitCheck(ConsumerCheck):
    """A check of what consumers grant. The ledgers are kept, and it is told of grants, by the attempt's `PermitLife`,
    ahead of its own handlers."""

    kept: Ledgers

    def granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        """A FLOW that is not the session's first; the ledger has it already."""

    def first_granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None: ...


class PermitLife:
    """Keeps the ledgers once for all checks, and tells those that listen."""

    def __init__(self, view: View, checks: Iterable[Check]) -> None:
        self._tracker = view.tracker
        self._ledgers = Ledgers(view)
        asking = [check for check in checks if isinstance(check, PermitCheck)]
        self._granted = listening(asking, PermitCheck.granted)
        self._first_granted = listening(asking, PermitCheck.first_granted)
        for check in asking:
            check.kept = self._ledgers

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        session = self._tracker.consumer_of(event)
        ledger = self._ledgers.of(session)
        if session is None or ledger is None or not from_client(event):
            return
        ledger.granted += event.permits or 0
        ledger.last = event
        if ledger.first is None:
            ledger.first = event
            tell(self._first_granted, session, ledger, event)
        else:
            tell(self._granted, session, ledger, event)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        ledger = self._ledgers.of(self._tracker.consumer_of(event))
        if ledger is not None and to_client(event):
            cost, size = charged(event), event.messages
            ledger.charged += cost
            ledger.came = event
            if size > 1 and event.intact is False:
                ledger.garbled = True
            if cost < size:
                ledger.filtered += size - cost
                ledger.last_filtered = event
