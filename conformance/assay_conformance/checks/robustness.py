"""Malformed input: a damaged message costs that message, and how bytes are cut into segments costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    TimedCheck,
    entry_on,
    from_client,
    late,
    number_in_force,
    plain_acks,
    to_client,
)
from assay_conformance.checks.handover import Handover
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import ConsumerSession, Entry
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    ClosedBy,
    Completion,
    Event,
    Fired,
    Frame,
    Invoke,
    Received,
)
from assay_conformance.model.requirement import RequirementId

CHECKSUM_MISMATCH = "ChecksumMismatch"

_LEAVING = ("close", "crash", "exit")
"""Verbs after which a client may end its connections by itself."""


@dataclass(slots=True)
class _Damaged:
    session: ConsumerSession
    frame: Frame
    entry: Entry
    reported: bool = False


@dataclass(slots=True)
class _Permits:
    """What one session granted, and what came for it. `handed` are the messages that left the client's queue."""

    granted: int = 0
    dispatched: int = 0
    handed: int = 0
    last_ns: int = 0


class DamagedMessage(ConsumerCheck):
    """A MESSAGE whose checksum does not fit is not delivered; an ACK says ChecksumMismatch, its permit comes back, and
    the connection goes on.

    A permit that never comes back shows when none is left: everything granted was used, the application took all that
    came, and nothing more is asked for. Consumers of several topics or partitions share a queue among them in ways of
    their own, so of those the permits are not judged.
    """

    requirement = RequirementId("robustness.damaged-message-reported")

    def start(self) -> None:
        self._damaged: list[_Damaged] = []
        self._intact: dict[tuple[int, Entry], int] = {}
        self._delivered: dict[tuple[int, Entry], int] = {}
        self._permits: dict[int, _Permits] = {}
        self._reasons_to_leave: set[int] = set()
        self._leaving = False

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event):
            return
        entry = entry_on(session, event.ids[0])
        permits = self._permits.setdefault(session.request.seq, _Permits())
        # How many messages a damaged entry holds, its own metadata says: a client that returns one permit is right.
        count = (event.meta.batch if event.meta is not None and event.intact else None) or 1
        permits.dispatched += count
        permits.last_ns = event.t_ns
        if event.intact is False:
            permits.handed += count
            self._damaged.append(_Damaged(session, event, entry))
        else:
            key = (session.consumer.handle, entry)
            self._intact[key] = self._intact.get(key, 0) + count

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        entry = None if consumer is None else self.tracker.entries.get(event.seq)
        if consumer is None or entry is None:
            return
        if (session := consumer.last_on(entry.topic)) is not None:
            self._permits.setdefault(session.request.seq, _Permits()).handed += 1
        key = (event.handle, entry)
        count = self._delivered[key] = self._delivered.get(key, 0) + 1
        damaged = next((d for d in self._damaged if d.session.consumer is consumer and d.entry == entry), None)
        if damaged is not None and count > self._intact.get(key, 0):
            self.breach(
                "damaged-delivered",
                f"consumer {event.handle} handed {entry} to the application at {ms(event.t_ns)}; it had come at "
                f"{ms(damaged.frame.t_ns)} with a checksum that does not fit",
                damaged.frame,
                event,
            )

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and from_client(event):
            self._permits.setdefault(session.request.seq, _Permits()).granted += event.permits or 0

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not from_client(event) or not self._damaged or event.ack_type == "Cumulative":
            return
        entries = {entry_on(session, id) for id in event.ids}
        for damaged in self._damaged:
            if damaged.session is session and damaged.entry in entries and not damaged.reported:
                damaged.reported = True
                self._judge(damaged, event)

    def _judge(self, damaged: _Damaged, event: Frame) -> None:
        said = event.fields.get("validation_error")
        assert damaged.session.consumer is not None
        handle = damaged.session.consumer.handle
        if said == CHECKSUM_MISMATCH:
            self.exercise(event)
        elif plain_acks(event) and self._intact.get((handle, damaged.entry)):
            damaged.reported = False  # It had come whole as well, and this settles that copy.
        else:
            self.breach(
                "wrong-report",
                f"consumer {handle} got {damaged.entry} damaged at {ms(damaged.frame.t_ns)} and answered with an ACK "
                f"that says {said or 'it was consumed'}, expected {CHECKSUM_MISMATCH}",
                damaged.frame,
                event,
            )

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.conn is not None and event.action != "corrupt":
            self._reasons_to_leave.add(event.conn)

    @on(Frame, "SEND_ERROR")
    def send_refused(self, event: Frame) -> None:
        """A reason to leave of its own: clients send again over a new connection."""
        self._reasons_to_leave.add(event.conn)

    @on(Invoke, *_LEAVING)
    def leaving(self, event: Invoke) -> None:
        del event
        self._leaving = True

    def over(self, session: ConsumerSession, event: Event) -> None:
        mine = [damaged for damaged in self._damaged if damaged.session is session]
        self._damaged = [damaged for damaged in self._damaged if damaged.session is not session]
        if mine and isinstance(event, Closed):
            self._closed_over(mine[-1], event)
        if not mine or isinstance(event, Closed | AgentEnded) or session.consumer is None:
            return
        for damaged in mine:
            if not damaged.reported and late("answer", damaged.frame.t_ns, event.t_ns):
                self.suspect(
                    "answer",
                    damaged.frame.t_ns,
                    event.t_ns,
                    "not-reported",
                    f"consumer {session.consumer.handle} got {damaged.entry} damaged at {ms(damaged.frame.t_ns)} and "
                    f"had not said so by {ms(event.t_ns)}, expected an ACK with {CHECKSUM_MISMATCH}",
                    damaged.frame,
                    event,
                )
        self._permits_back(session, mine[-1], event)

    def _closed_over(self, damaged: _Damaged, event: Closed) -> None:
        if event.by is not ClosedBy.CLIENT or self._leaving or event.conn in self._reasons_to_leave:
            return
        if event.t_ns - damaged.frame.t_ns <= TOLERANCES["answer"].slack_ns:
            self.breach(
                "connection-closed",
                f"the client closed connection {event.conn} at {ms(event.t_ns)}, after a damaged message "
                f"({damaged.entry}) at {ms(damaged.frame.t_ns)}; expected it to go on without that message",
                damaged.frame,
                event,
            )

    def _permits_back(self, session: ConsumerSession, last: _Damaged, event: Event) -> None:
        permits = self._permits[session.request.seq]
        assert session.consumer is not None
        if len(session.consumer.topics) > 1 or "-partition-" in session.topic:
            return
        queue = number_in_force(self.view, session.consumer, "receiver_queue_size")
        starved = permits.granted <= permits.dispatched <= permits.handed
        if queue and permits.granted and starved and late("answer", permits.last_ns, event.t_ns):
            self.suspect(
                "answer",
                permits.last_ns,
                event.t_ns,
                "permit-not-returned",
                f"consumer {session.consumer.handle} granted {permits.granted} permits, which {permits.dispatched} "
                f"messages used up by {ms(permits.last_ns)}, damaged ones among them; it granted no more until "
                f"{ms(event.t_ns)} although its queue was empty",
                last.frame,
                event,
            )


class AnySegmentation(TimedCheck):
    """On a connection whose bytes come in odd pieces, every message is still taken, unchanged, and nothing is closed.

    That requests and sends on it complete is seen by the operations that wait for them.
    """

    requirement = RequirementId("robustness.any-segmentation")

    def start(self) -> None:
        self._since: dict[int, Fired] = {}
        self._reasons_to_leave: set[int] = set()
        self._handover = Handover(self.view)
        self._leaving = False

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.conn is None:
            return
        if event.action == "resegment":
            self._since.setdefault(event.conn, event)
        else:
            self._reasons_to_leave.add(event.conn)

    @on(Frame, "SEND_ERROR")
    def send_refused(self, event: Frame) -> None:
        """A reason to leave of its own: clients send again over a new connection."""
        self._reasons_to_leave.add(event.conn)

    @on(Invoke, *_LEAVING)
    def leaving(self, event: Invoke) -> None:
        del event
        self._leaving = True

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        if event.conn not in self._since or not to_client(event) or event.intact is False or not event.members:
            return
        session = self.tracker.consumer_of(event)
        if session is not None:
            self._handover.offer(session, event)

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        if consumer is None or not self._since:
            return
        offer = self._handover.received(consumer, event)
        if offer is None:
            return
        member = offer.frame.members[max(offer.index, 0)]
        if (event.size, event.digest) == (member.size, member.digest):
            self.exercise(event)
        else:
            self.breach(
                "message-changed",
                f"consumer {event.handle} handed {offer.entry} over as {event.size} bytes of digest "
                f"{event.digest:08x}; in pieces it had come as {member.size} bytes of digest {member.digest:08x}",
                offer.frame,
                event,
            )

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is None or not self._since:
            return
        for offer in self._handover.withheld(operation):
            if offer.frame.conn not in self._reasons_to_leave:
                self.suspect(
                    "answer",
                    offer.frame.t_ns,
                    event.t_ns,
                    "message-lost",
                    f"{offer.entry} came to consumer {event.handle} in pieces at {ms(offer.frame.t_ns)} and was not "
                    f"handed over by {ms(event.t_ns)}, when a receive ended short",
                    self._since[offer.frame.conn],
                    offer.frame,
                    event,
                )

    @on(Closed)
    def connection_closed(self, event: Closed) -> None:
        fired = self._since.pop(event.conn, None)
        if fired is None or self._leaving or event.conn in self._reasons_to_leave or event.by is not ClosedBy.CLIENT:
            return
        self.breach(
            "connection-closed",
            f"the client closed connection {event.conn} at {ms(event.t_ns)}; from {ms(fired.t_ns)} on its bytes came "
            "in odd pieces, expected them to be read as any others",
            fired,
            event,
        )
