"""Dead letters: what the application refused as often as it may, or what came once more often, is buried and then
acknowledged; what came in chunks as well."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import entry_on, in_force, late, number_in_force, sent_round, to_client
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Event, Fate, Frame, Invoke
from assay_conformance.pulsar.checks.dead_letter._acking_original import Errand, Settling
from assay_conformance.pulsar.checks.dead_letter._counting import INDIVIDUAL

LETTER_ADDS_BYTES = 256
"""What a letter has on top of its message at most: where that was, in two properties."""


class Buried(Settling):
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
