"""Consumer epochs (PIP-84): what was sent before a redelivery of everything does not reach the application."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import SessionKey, entry_on, of_earlier_epoch, session_key, to_client
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.settled import Settled
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import FORGED, Event, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.subscription._readers import is_reader


@dataclass(slots=True)
class _Epoch:
    """Since a request for redelivery of everything: entries that came for it and are due, in order, and entries of an
    earlier epoch.

    An entry that the client may drop when it comes is due, but need not be received.
    """

    request: Frame
    number: int
    due: list[Entry] = field(default_factory=list)
    fresh: set[Entry] = field(default_factory=set)
    unsure: set[Entry] = field(default_factory=set)
    stale: dict[Entry, Frame] = field(default_factory=dict)
    received_last: Entry | None = None
    """The entry that was last received in its turn: the other messages of a batch follow it."""


class OldConsumerEpochDropped(RequestCheck):
    """After a request with a new epoch only what was sent in it, or in a later one, is received.

    What the application received at the time of the request may have been on its way to it.
    """

    requirement = RequirementId("ordering.old-consumer-epoch-dropped")
    needs = ((Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES"),)

    def start(self) -> None:
        self._epochs: dict[SessionKey, _Epoch] = {}
        self._queued: dict[SessionKey, dict[Entry, Frame]] = {}
        self._settled = Settled()

    def asked(self, call: Call) -> None:
        if call.invoke.verb == "ack":
            # It stays due: an acknowledged entry may be dropped when it comes, or received all the same.
            self._settled.asked(call)

    def redeliver(self, request: Request) -> None:
        event = request.frame
        number = event.fields.get("consumer_epoch")
        if not event.ids and number is not None:
            key = session_key(request.session)
            self._epochs[key] = _Epoch(event, int(number), stale=dict(self._queued.get(key, {})))

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event):
            return
        key, entry = session_key(session), entry_on(session, event.ids[0])
        epoch = self._epochs.get(key)
        if epoch is None:
            self._queued.setdefault(key, {})[entry] = event
        elif not of_earlier_epoch(event, epoch.request):
            if not _is_part(event):
                epoch.due.append(entry)
            epoch.fresh.add(entry)
            if _may_be_dropped(event):
                epoch.unsure.add(entry)
        else:
            epoch.stale[entry] = event

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        consumer = self.tracker.opened_consumers.get(event.handle)
        session = consumer.live_on(entry.topic) if consumer is not None and entry is not None else None
        if session is None or entry is None:
            return
        key = session_key(session)
        self._queued.get(key, {}).pop(entry, None)
        epoch = self._epochs.get(key)
        if epoch is None:
            return
        if entry == epoch.received_last:
            # Or it came twice, and this is the second one.
            epoch.due = epoch.due[1:] if epoch.due[:1] == [entry] else epoch.due
            return
        stale = epoch.stale.get(entry)
        place = epoch.due.index(entry) if entry in epoch.due else len(epoch.due)
        skipped = [due for due in epoch.due[:place] if due not in epoch.unsure and self._is_due(session, due)]
        if place < len(epoch.due) and (not skipped or stale is None):
            del epoch.due[: place + 1]
            epoch.received_last = entry
            if epoch.stale:
                self.exercise(event)
        elif stale is not None and (skipped or entry not in epoch.fresh) and self._surely_behind(event, epoch):
            self.breach(
                "stale-delivery",
                f"consumer {event.handle} requested redelivery of everything at {ms(epoch.request.t_ns)}, with epoch "
                f"{epoch.number}; {entry} came at {ms(stale.t_ns)} with an earlier epoch; expected it to be dropped; "
                f"it was received at {ms(event.t_ns)}, before it had come again",
                epoch.request,
                stale,
                event,
            )

    def _is_due(self, session: ConsumerSession, entry: Entry) -> bool:
        """Whether it has to be received: it is neither acknowledged, nor the target of a seek (a seek may go on after
        it), nor on a reader, which may have read it."""
        consumer = session.consumer
        if consumer is None or is_reader(session) or (entry.ledger, entry.entry) in consumer.sought:
            return False
        return not self._settled.holds(consumer.handle, entry)

    def _surely_behind(self, event: Received, epoch: _Epoch) -> bool:
        return ended_ns(event) > epoch.request.t_ns + TOLERANCES["crossing"].slack_ns

    def over(self, session: ConsumerSession, event: Event) -> None:
        del event
        self._epochs.pop(session_key(session), None)
        self._queued.pop(session_key(session), None)


def _may_be_dropped(message: Frame) -> bool:
    """Whether a fault changed it, it is unreadable, or it is a last chunk, of which others may be missing."""
    unreadable = not message.intact or not message.members
    return message.fate in FORGED or unreadable or message.meta is None or message.meta.chunk_id is not None


def _is_part(message: Frame) -> bool:
    """Whether it is a chunk before the last: the message is received with the position of its last chunk."""
    meta = message.meta
    return meta is not None and meta.chunk_id is not None and meta.chunk_id + 1 < (meta.chunks or 0)
