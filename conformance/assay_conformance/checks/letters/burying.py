"""Dead letters: what the application refused as often as it may, or what came once more often, is buried and then
acknowledged; what came in chunks as well."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    entry_on,
    in_force,
    is_torn,
    late,
    number_in_force,
    sent_round,
    to_client,
)
from assay_conformance.checks.letters.counting import INDIVIDUAL
from assay_conformance.checks.letters.posting import Address
from assay_conformance.checks.letters.settling import Errand, Settling
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Completion, Event, Fate, Frame, Invoke, Received
from assay_conformance.model.requirement import RequirementId

LETTER_ADDS_BYTES = 256
"""What a letter has on top of its message at most: where that was, in two properties."""


class _Buried(Settling):
    """Messages that were refused when they had been redelivered as often as they may be, or that come once more often
    than that."""

    needs = (Setting("consumer", "max_redeliver_count"),)

    large: ClassVar[bool]
    """Whether about those that came in chunks."""

    def start(self) -> None:
        super().start()
        self._chunks: dict[tuple[ConsumerSession, str | None], int] = {}
        """Session and uuid -> the chunk that is to come next."""
        self._doubled: set[Entry] = set()
        """What a fault repeated on its way: where its letter fails each copy is asked for, one behind the other."""
        self._too_long: set[Entry] = set()
        """What came in a frame with hardly any room for what a letter adds: its client may have to refuse it."""
        self._given_back_ns: dict[Entry, int] = {}
        """When it was asked for last. A failed letter and a refusal of before may ask for it one behind the other."""

    def called(self, call: Call) -> None:
        most, completion = self._most(call.consumer), call.operation.completion
        refused = call.invoke.verb == "nack" and completion is not None and self.session_of(call) is not None
        if refused and completion is not None and most and call.message.redelivery_count >= most:
            self._buries(call.consumer, call.entry, completion, call.called_ns)

    @on(Invoke, "reconsume_later")
    def sent_round(self, event: Invoke) -> None:
        """Its retry letter settles it, or it is asked for at once: until it comes again, nothing is to be buried."""
        for _, entry in sent_round(self.tracker, event):
            self.settled.add(entry)
            self.errands.pop(self.origin_of(entry), None)

    @on(Frame, "MESSAGE")
    def sent(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event) or not event.intact or not event.ids:
            return
        most, entry = self._most(session.consumer), entry_on(session, event.ids[0])
        if event.fate is Fate.DUPLICATED:
            self._doubled.add(entry)
        unpacked = (event.meta and event.meta.uncompressed_size) or 0
        if event.size + unpacked + LETTER_ADDS_BYTES > self.view.case.topology.max_message_bytes:
            self._too_long.add(entry)
        if not self._came_whole(session, entry):
            return
        if most and (event.redelivery_count or 0) > most and self.origin_of(entry) not in self.errands:
            self._buries(session.consumer, entry, event, event.t_ns)

    def _came_whole(self, session: ConsumerSession, entry: Entry) -> bool:
        """With this entry, which has just come, its client has all of the message: of some of its chunks alone nobody
        can make a letter, however often those have come."""
        stored = self.stored.get(entry)
        if stored is None or stored.meta.chunk_id is None:
            return True
        chunk, key = stored.meta.chunk_id, (session, stored.meta.uuid)
        if chunk and chunk != self._chunks.get(key):
            return False
        if chunk + 1 < (stored.meta.chunks or 0):
            self._chunks[key] = chunk + 1
            return False
        self._chunks.pop(key, None)
        return True

    def given_back(self, errand: Errand, session: ConsumerSession, event: Frame) -> None:
        super().given_back(errand, session, event)
        before_ns = self._given_back_ns.get(errand.source)
        self._given_back_ns[errand.source] = event.t_ns
        if before_ns is not None and not late("crossing", before_ns, event.t_ns):
            return
        untried = errand.waits is not None and errand.failure is None and errand.letter is None
        if untried and errand.source not in self._doubled:
            self.breach(
                "asked-again",
                f"consumer {errand.consumer.handle}: {errand.source} had been redelivered as often as it may be by "
                f"{ms(errand.cause.t_ns)}; no copy of it was sent, nothing had failed on the way, and it was asked for "
                f"once more at {ms(event.t_ns)}",
                errand.cause,
                event,
            )

    def _most(self, consumer: OpenedConsumer) -> int | None:
        kind = in_force(self.view, consumer, "subscription_type")
        return number_in_force(self.view, consumer, "max_redeliver_count") if kind in INDIVIDUAL else None

    def _buries(self, consumer: OpenedConsumer, entry: Entry, cause: Event, since_ns: int) -> None:
        stored = self.stored.get(entry)
        if stored is None or (entry in self._too_long and not self.large):
            return
        chunk = stored.meta.chunk_id
        whole = chunk is None or chunk + 1 >= (stored.meta.chunks or 0)  # A message has the place of its last chunk.
        if whole and (chunk is not None) is self.large:
            self.begin(consumer, entry, cause, since_ns)


class BuriedThenAcked(_Buried):
    requirement = RequirementId("dead-letter.original-acked-after-receipt")
    large = False

    def taken(self, address: Address, request: Frame, answer: Frame) -> None:
        """One that comes back may find itself still there; one that comes for the first time should not have chosen
        that name."""
        if request.fields.get("producer_name") and not request.fields.get("epoch"):
            self.breach(
                "name-taken",
                f"a producer of {address.kind}s for subscription {address.consumer.subscription} asked for the name "
                f"{request.fields['producer_name']!r} at {ms(request.t_ns)}, and another one has it: its letters wait "
                "until that one goes",
                request,
                answer,
            )


class LargeIsBuried(_Buried):
    """One that is refused and does not come again, as when only some of its chunks do, never gets there. Where a fault
    took chunks on their way, or the permits for them, that is no wonder, nor where its consumer is not subscribed."""

    requirement = RequirementId("dead-letter.large-message-chunked")
    large = True

    def start(self) -> None:
        super().start()
        self._torn: set[int] = set()
        """Consumers to whom something did not come as it was sent, or whose permits did not get there."""
        self._refused: dict[Entry, tuple[Call, int]] = {}
        """Original -> the refusal below its maximum, and when it should have been asked for."""

    def called(self, call: Call) -> None:
        super().called(call)
        most, stored = self._most(call.consumer), self.stored.get(call.entry)
        chunked = stored is not None and stored.meta.chunk_id is not None
        if call.invoke.verb != "nack" or not chunked or self._is_settled(call.entry):
            return
        if most and call.message.redelivery_count < most:
            due_ns = call.called_ns + self._delay_ns(call.consumer)
            self._refused[call.entry] = (call, due_ns)

    def _is_settled(self, entry: Entry) -> bool:
        """Acknowledged, or it is a letter, or becomes one: an earlier delivery that is refused brings nothing back."""
        return entry in self.asked_to_ack | self.settled or self.origin_of(entry) in self.errands

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.handed(event)
        if entry is not None:
            self._refused.pop(entry, None)

    @on(Frame, "MESSAGE", "FLOW")
    def came(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and is_torn(event):
            self._torn.add(session.consumer.handle)

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        short = operation is not None and (event.count or 0) < int(operation.invoke.args.get("count", 1))
        for entry, (call, due_ns) in list(self._refused.items()):
            session = call.consumer.live_on(entry.topic)
            if event.handle in self._torn or session is None or session.ready is None:
                continue
            due_ns = max(due_ns, session.ready.t_ns)
            if short and event.handle == call.consumer.handle and late("answer", due_ns, event.t_ns):
                del self._refused[entry]
                self.overdue(
                    "answer",
                    due_ns,
                    event.t_ns,
                    "never-again",
                    f"consumer {event.handle}: {entry}, which came in chunks, was refused at {ms(call.called_ns)} and "
                    f"had not come again by {ms(event.t_ns)}, when a receive ended short",
                    self.stored[entry],
                    call.message,
                    event,
                )
