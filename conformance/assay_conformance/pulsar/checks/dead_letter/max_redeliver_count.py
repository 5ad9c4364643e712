"""dead-letter.max-redeliver-count"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import entry_on, in_force, number_in_force, to_client
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Frame, Invoke, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dead_letter._counting import INDIVIDUAL
from assay_conformance.pulsar.checks.dead_letter._sending import Kind, Letter, LetterCheck, times_of


class MaxRedeliverCount(LetterCheck):
    """No dead letter before its message was redelivered, or went round, as often as the maximum; and no message in the
    application's hands, or sent round, once more often than that."""

    requirement = RequirementId("dead-letter.max-redeliver-count")
    needs = (Setting("consumer", "max_redeliver_count"),)

    def start(self) -> None:
        super().start()
        self._redelivered: dict[Entry, Frame] = {}
        """Original -> the MESSAGE with its highest redelivery count."""
        self._rounds: dict[Entry, int] = {}
        """Original -> how often it had been round when it was asked to go round again."""

    @on(Frame, "MESSAGE")
    def sent(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not to_client(event) or not event.ids:
            return
        origin = self.origin_of(entry_on(session, event.ids[0]))
        before = self._redelivered.get(origin)
        if before is None or (event.redelivery_count or 0) >= (before.redelivery_count or 0):
            self._redelivered[origin] = event

    @on(Invoke, "reconsume_later")
    def reconsumed(self, event: Invoke) -> None:
        for ordinal in event.args.get("messages", ()):
            message = self.tracker.delivery(event.handle or 0, ordinal)
            entry = None if message is None else self.handed(message)
            if entry is not None:
                stored = self.stored.get(entry)
                origin, times = self.origin_of(entry), 0 if stored is None else times_of(stored.meta.letter)
                # The messages of a batch go round each for itself, and tell the same origin.
                self._rounds[origin] = max(times, self._rounds.get(origin, 0))

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        most = None if consumer is None else number_in_force(self.view, consumer, "max_redeliver_count")
        if consumer is None or not most or in_force(self.view, consumer, "subscription_type") not in INDIVIDUAL:
            return
        if event.redelivery_count > most:
            entry = self.handed(event)
            self.breach(
                "beyond-maximum",
                f"consumer {event.handle} was handed {entry or 'a message'} at {ms(event.t_ns)} with redelivery count "
                f"{event.redelivery_count}; beyond {most} it is a dead letter",
                event,
            )

    def posted(self, letter: Letter) -> None:
        most = number_in_force(self.view, letter.address.consumer, "max_redeliver_count")
        if letter.origin is None or not most:
            return
        if letter.kind is Kind.RETRY:
            if times_of(letter.told) > most:
                self._wrong(letter, f"round {times_of(letter.told)} of {most}", "beyond-maximum")
            return
        rounds, last = self._rounds.get(letter.origin), self._redelivered.get(letter.origin)
        redelivered = None if last is None else last.redelivery_count
        count = max((known for known in (rounds, redelivered) if known is not None), default=None)
        if count is not None and count < most:
            self._wrong(letter, f"redelivery {count} of {most}", "too-soon")
        elif count is not None:
            self.exercise(letter.frame)

    def _wrong(self, letter: Letter, what: str, code: str) -> None:
        last = None if letter.origin is None else self._redelivered.get(letter.origin)
        self.breach(
            code,
            f"{letter} left at {ms(letter.frame.t_ns)}, after {what}",
            *([last] if last is not None else []),
            letter.frame,
        )
