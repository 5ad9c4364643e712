"""What was sent, told, stored and delivered belongs together."""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.ledger.lives import Life
from assay_conformance.ledger.rows import Delivery
from assay_conformance.ledger.rules.base import Rule, at, id_of
from assay_conformance.ledger.tables import Integrity, Result

_GOOD = Integrity.GOOD
"""As in `model.event`: members of enums are slow to find, and every row is asked."""


class AckedIsDelivered(Rule):
    """A message that was told to be stored reaches every whole subscription that was served for long enough."""

    requirement = clauses.LOST

    def promised(self) -> bool:
        return True

    def look(self, life: Life) -> None:
        told_at = life.told_at
        if told_at is None:
            return
        for subscription in self.evidence.subscriptions_of(life.stream):
            sub = subscription.sub
            if (
                sub in life.given
                or not subscription.whole
                or not self.evidence.served(sub, self._due_at(life, told_at))
            ):
                continue
            if not self.evidence.passed_over(sub, life.stream, life.seq):
                continue
            if any(self.evidence.has_holes(one.writer) for one in self.evidence.consumers_of(sub)):
                self.undecided("some of what consumers wrote cannot be read, and what is missing may stand there")
                continue
            if self.evidence.rows_lost(sub, told_at):
                self.remark = "messages that a killed consumer may have got last were not judged"
                continue
            self.breach(
                "lost",
                f"{self.message(life)} was told to be stored at {at(told_at)}; {self.subscription(sub)} never got it, "
                f"up to {at(self.evidence.end_us)}",
                life,
                sub,
            )

    def _due_at(self, life: Life, told_at: int) -> int:
        return max([told_at, *(row.deliver_at for row in life.attempts if row.deliver_at is not None)])


class NothingInvented(Rule):
    """What is delivered or stored was asked for. Rows that a killed producer had in its hands may be missing."""

    requirement = clauses.INVENTED

    def promised(self) -> bool:
        return True

    def look(self, life: Life) -> None:
        if life.attempts or (self._writer_was_killed(life) and life.seq > self._last(life)):
            return
        if (life.given or life.places) and self.evidence.has_holes(self.small.streams[life.stream].writer):
            self.undecided("some of what producers wrote cannot be read, and what was sent may stand there")
            return
        for sub, copies in life.given.items():
            self.breach(
                "never-sent",
                f"{self.subscription(sub)} got {self.message(life)} at {at(copies[0].t)} as {id_of(copies[0])}, "
                "which nobody had asked for",
                life,
                sub,
            )
        if life.places and not life.given:
            self.breach("stored-unasked", f"{self.message(life)} is stored; nobody had asked for it", life)

    def _last(self, life: Life) -> int:
        return self.evidence.sums.last_seq.get(life.stream, -1)

    def _writer_was_killed(self, life: Life) -> bool:
        writer = self.small.writers.get(self.small.streams[life.stream].writer)
        return writer is not None and bool(not writer.closed or writer.dropped)


class FailedIsNotStored(Rule):
    """A message of which every attempt is told to have failed is neither stored nor delivered."""

    requirement = clauses.FAILED

    def look(self, life: Life) -> None:
        if not life.surely_failed:
            return
        told_at = max(row.t for row in life.outcomes)
        for sub, copies in life.given.items():
            self.breach(
                "delivered-though-failed",
                f"{self.message(life)} was told to have failed at {at(told_at)}; {self.subscription(sub)} got it at "
                f"{at(copies[0].t)} as {id_of(copies[0])}",
                life,
                sub,
            )
        if life.places and not life.given:
            self.breach(
                "stored-though-failed",
                f"{self.message(life)} was told to have failed at {at(told_at)}; it is stored as "
                f"{id_of(life.stored[0])}",
                life,
            )


class OkIsStored(Rule):
    """A message that was told to be stored is there, whole, on a topic that was read back."""

    requirement = clauses.STORED_OK

    def promised(self) -> bool:
        return any(topic.read_back for topic in self.small.topics.values())

    def look(self, life: Life) -> None:
        topic = self.small.topics[self.small.streams[life.stream].topic]
        if not topic.read_back or life.is_stored:
            return
        told = next((row for row in life.outcomes if row.code == Result.OK), None)
        if told is None:
            return
        self.breach(
            "not-stored",
            f"{self.message(life)} was told at {at(told.t)} to be stored as {id_of(told)}; the topic does not hold it",
            life,
        )


class AsSent(Rule):
    """A delivered payload is the one that was sent: it says so itself, or its checksum is that of an attempt."""

    requirement = clauses.AS_SENT

    def promised(self) -> bool:
        return True

    def look(self, life: Life) -> None:
        for sub, copies in life.given.items():
            bad = next((row for row in copies if row.ok != _GOOD and self._differs(life, row)), None)
            if bad is not None:
                self.breach(
                    "changed",
                    f"{self.subscription(sub)} got {self.message(life)} at {at(bad.t)} as {id_of(bad)} with another "
                    f"payload than was sent (CRC-32 {bad.crc & 0xFFFFFFFF:08x})",
                    life,
                    sub,
                    shown=bad.ok == Integrity.BAD,
                )

    def _differs(self, life: Life, row: Delivery) -> bool:
        if self.info.self_checking or row.ok != Integrity.UNKNOWN:
            return row.ok == Integrity.BAD
        return self.info.checksums and bool(life.attempts) and row.crc not in {attempt.crc for attempt in life.attempts}
