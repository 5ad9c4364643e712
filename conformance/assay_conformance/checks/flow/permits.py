"""Permits after the first: how many a consumer grants, when it grants more, and what a broker does with them.

All of it is one ledger a session: what the consumer granted, what it was charged for, what its application took.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay_conformance.checks.base import Check, View, listening, ms, on, tell
from assay_conformance.checks.consumption import ConsumerCheck, bits_of, from_client, late, number_in_force, to_client
from assay_conformance.checks.delivery_order import ORDERED
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Event, Frame, Received
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
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


class HalfQueue(PermitCheck):
    """Once the application has taken half a queue, permits follow; and never in smaller portions.

    Judged on a consumer's first connection: behind a reconnect nobody sees which connection a delivery came over.
    """

    requirement = RequirementId("flow.permits-renewed-at-half-queue")
    skips_plain = True

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        session = consumer.sessions[0] if consumer is not None and consumer.sessions else None
        ledger = self.kept.of(session)
        if session is None or ledger is None or session.ended is not None:
            return
        entry = self.tracker.entries.get(event.seq)
        # A consumer of several topics, as with retry letters, has a queue and permits on each.
        if entry is not None and entry.topic != session.topic:
            return
        ledger.taken += 1
        if ledger.taken >= ledger.refill and ledger.ripe is None:
            ledger.ripe = event

    def granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        self._overdue(session, ledger, event)
        permits = event.permits or 0
        if permits < max(1, ledger.queue // 2) and session.consumer is not None:
            self.breach(
                "in-drips",
                f"consumer {session.consumer.handle} granted {permits} permits at {ms(event.t_ns)}; its queue holds "
                f"{ledger.queue}, expected no grant before half of them were used",
                *([ledger.first] if ledger.first else []),
                event,
            )
        else:
            self.exercise(event)
        ledger.taken -= permits
        ledger.ripe = None

    def over(self, session: ConsumerSession, event: Event) -> None:
        ledger = self.kept.of(session)
        if ledger is not None:
            self._overdue(session, ledger, event)

    def _overdue(self, session: ConsumerSession, ledger: Ledger, event: Event) -> None:
        ripe, consumer = ledger.ripe, session.consumer
        if ripe is None or consumer is None:
            return
        until_ns = min(event.t_ns, consumer.closing.t_ns if consumer.closing is not None else event.t_ns)
        if late("answer", ripe.t_ns, until_ns):
            self.overdue(
                "answer",
                ripe.t_ns,
                until_ns,
                "no-refill",
                f"the application had taken half the queue of consumer {consumer.handle} ({ledger.refill} of "
                f"{ledger.queue}) at {ms(ripe.t_ns)}, and no permits had followed by {ms(until_ns)}",
                ripe,
                event,
            )
        ledger.ripe = None


class WithinQueue(PermitCheck):
    """What was granted is never more than what came and a queue on top.

    Counted is what was written towards the client: what it had not read yet makes this bound wider, never narrower.
    What is too many by no more than ack_sets had taken out is another requirement's.
    """

    requirement = RequirementId("flow.permits-within-queue")
    skips_plain = True

    def granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        if ledger.outstanding <= ledger.queue:
            self.exercise(event)
        elif session.consumer is not None and ledger.outstanding > ledger.queue + ledger.filtered:
            self.breach(
                "more-than-the-queue",
                f"consumer {session.consumer.handle} had granted {ledger.granted} permits by {ms(event.t_ns)} and "
                f"{ledger.charged} messages had come for them; {ledger.outstanding} are open, its queue holds "
                f"{ledger.queue}",
                *([ledger.first] if ledger.first else []),
                event,
            )


class RestartsAfterReconnect(PermitCheck):
    """The first FLOW behind a reconnect grants the whole queue again: it was emptied, and the broker starts at none.

    A grant for a message of before may cross the answer to SUBSCRIBE, and looks like the first one then; the whole
    queue's follows it. Grants ahead of that answer are another requirement's.
    """

    requirement = RequirementId("flow.permits-reset-on-reconnect")
    skips_plain = True

    def start(self) -> None:
        self._short: dict[int, Frame] = {}
        """Number of a session's SUBSCRIBE -> its first grant, as long as only such came that were not the queue's."""

    def first_granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        if session.consumer is None or not session.is_return:
            return
        if event.permits == ledger.queue:
            self.exercise(event)
        else:
            self._short[session.request.seq] = event

    def granted(self, session: ConsumerSession, ledger: Ledger, event: Frame) -> None:
        if event.permits == ledger.queue and self._short.pop(session.request.seq, None) is not None:
            self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        ledger, consumer = self.kept.of(session), session.consumer
        if ledger is None or consumer is None or not session.is_return:
            return
        assert session.ready is not None
        until_ns = min(event.t_ns, consumer.closing.t_ns if consumer.closing is not None else event.t_ns)
        short = self._short.pop(session.request.seq, None)
        since = f"consumer {consumer.handle} was subscribed again at {ms(session.ready.t_ns)} and"
        if ledger.first is None and late("answer", session.ready.t_ns, until_ns):
            said = f"{since} had granted no permits by {ms(until_ns)}"
            code = "no-permits-after-reconnect"
            self.overdue("answer", session.ready.t_ns, until_ns, code, said, session.ready, event)
        elif short is not None and late("notice", session.ready.t_ns, until_ns):
            said = (
                f"{since} granted {short.permits} permits at {ms(short.t_ns)}; expected its queue size, "
                f"{ledger.queue}, whatever it had granted before"
            )
            code = "wrong-permits-after-reconnect"
            self.overdue("notice", session.ready.t_ns, until_ns, code, said, session.ready, short)


@dataclass(slots=True)
class _Balance:
    """Permits as the broker's side has them. `credit` counts down the entries a read begun with permits may bring,
    `beside` those of a read that was under way when redelivery was asked for; `alone`: only one consumer is active."""

    permits: int = 0
    credit: int = 0
    beside: int = 0
    alone: bool = False
    last: Frame | None = None


class EntriesWhole(Check):
    """A broker sends nothing without permits; what an entry is beyond them is owed, and repaid first.

    A read takes at most as many entries as permits are left, and all of those are sent. Whoever asks for redelivery has
    the dispatcher of one active consumer read anew, beside a read that is under way and not charged yet.
    """

    requirement = RequirementId("flow.permits-count-messages")
    skips_plain = True

    def start(self) -> None:
        self._balances: dict[tuple[int, int], _Balance] = {}

    @on(Frame, "SUBSCRIBE")
    def subscribed(self, event: Frame) -> None:
        if event.at_broker and event.consumer_id is not None:
            self._balances[event.conn, event.consumer_id] = _Balance(alone=event.fields.get("subType") in ORDERED)

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        balance = self._balances.get((event.conn, event.consumer_id or 0))
        if balance is None or not event.at_broker:
            return
        repaid = balance.permits < 0
        balance.permits += event.permits or 0
        balance.credit = max(balance.permits, 0)
        balance.last = event
        if repaid:
            self.exercise(event)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def reads_anew(self, event: Frame) -> None:
        balance = self._balances.get((event.conn, event.consumer_id or 0))
        if balance is not None and balance.alone and event.at_broker:
            balance.beside = max(balance.permits, 0)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        balance = self._balances.get((event.conn, event.consumer_id or 0))
        if balance is None or not event.at_broker or event.dir is not Direction.TO_CLIENT:
            return
        if balance.credit <= 0 and balance.beside > 0:
            balance.beside -= 1
        elif balance.credit <= 0:
            self.breach(
                "beyond-permits",
                f"the broker sent {event.ids[0].name} to consumer id {event.consumer_id} on "
                f"connection {event.conn} at {ms(event.t_ns)}, with {balance.permits} permits left",
                *([balance.last] if balance.last else []),
                event,
            )
        cost = charged(event)
        balance.permits -= cost
        balance.credit -= 1
        if cost > 1:
            self.exercise(event)
