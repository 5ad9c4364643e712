"""What was sent, receipted, stored and received agrees."""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.ledger.lives import Life
from assay_conformance.ledger.rows import Delivery
from assay_conformance.ledger.rules.base import Rule, at, id_of
from assay_conformance.ledger.tables import Integrity, Result

_GOOD = Integrity.GOOD
"""As in `model.event`: members of enums are slow to find, and every row is asked."""


class AckedIsDelivered(Rule):
    """A message whose send succeeded reaches every whole subscription that was served for long enough."""

    requirement = clauses.LOST

    def promised(self) -> bool:
        return True

    def look(self, life: Life) -> None:
        ended_us = life.confirmed_at
        if ended_us is None:
            return
        for subscription in self.evidence.subscriptions_of(life.stream):
            sub = subscription.sub
            if (
                sub in life.given
                or not subscription.whole
                or not self.evidence.served(sub, self._due_at(life, ended_us))
            ):
                continue
            if not self.evidence.passed_over(sub, life.stream, life.seq):
                continue
            if any(self.evidence.has_holes(one.writer) for one in self.evidence.consumers_of(sub)):
                self.undecided("some rows of consumers cannot be read, and may hold the missing delivery")
                continue
            if self.evidence.rows_lost(sub, ended_us):
                self.remark = "messages that a killed consumer may have received last were not judged"
                continue
            self.breach(
                "lost",
                f"the send of {self.message(life)} succeeded at {at(ended_us)}; expected {self.subscription(sub)} to "
                f"receive it; it had not by {at(self.evidence.end_us)}",
                life,
                sub,
            )

    def _due_at(self, life: Life, ended_us: int) -> int:
        return max([ended_us, *(row.deliver_at for row in life.attempts if row.deliver_at is not None)])


class NothingInvented(Rule):
    """What is received or stored was sent. Rows that a killed producer had not written yet may be missing."""

    requirement = clauses.INVENTED

    def promised(self) -> bool:
        return True

    def look(self, life: Life) -> None:
        if life.attempts or (self._writer_was_killed(life) and life.seq > self._last(life)):
            return
        if (life.given or life.places) and self.evidence.has_holes(self.small.streams[life.stream].writer):
            self.undecided("some rows of producers cannot be read, and may hold the send")
            return
        for sub, copies in life.given.items():
            self.breach(
                "never-sent",
                f"{self.subscription(sub)} received {self.message(life)} at {at(copies[0].t)} as {id_of(copies[0])}; "
                "expected only messages that were sent; no producer had sent it",
                life,
                sub,
            )
        if life.places and not life.given:
            sentence = f"{self.message(life)} is stored; expected only messages that were sent; no producer had sent it"
            self.breach("stored-unasked", sentence, life)

    def _last(self, life: Life) -> int:
        return self.evidence.sums.last_seq.get(life.stream, -1)

    def _writer_was_killed(self, life: Life) -> bool:
        writer = self.small.writers.get(self.small.streams[life.stream].writer)
        return writer is not None and bool(not writer.closed or writer.dropped)


class FailedIsNotStored(Rule):
    """A message whose every send failed is neither stored nor received."""

    requirement = clauses.FAILED

    def look(self, life: Life) -> None:
        if not life.surely_failed:
            return
        ended_us = max(row.t for row in life.outcomes)
        for sub, copies in life.given.items():
            self.breach(
                "delivered-though-failed",
                f"the send of {self.message(life)} failed at {at(ended_us)}; expected it not to be received; "
                f"{self.subscription(sub)} received it at {at(copies[0].t)} as {id_of(copies[0])}",
                life,
                sub,
            )
        if life.places and not life.given:
            self.breach(
                "stored-though-failed",
                f"the send of {self.message(life)} failed at {at(ended_us)}; expected it not to be stored; it is, as "
                f"{id_of(life.stored[0])}",
                life,
            )


class OkIsStored(Rule):
    """A message whose send succeeded is stored, whole, on a topic that was read back."""

    requirement = clauses.STORED_OK

    def promised(self) -> bool:
        return any(topic.read_back for topic in self.small.topics.values())

    def look(self, life: Life) -> None:
        topic = self.small.topics[self.small.streams[life.stream].topic]
        if not topic.read_back or life.is_stored:
            return
        sent_ok = next((row for row in life.outcomes if row.code == Result.OK), None)
        if sent_ok is None:
            return
        self.breach(
            "not-stored",
            f"the send of {self.message(life)} succeeded at {at(sent_ok.t)} with id {id_of(sent_ok)}; expected the "
            "topic to hold it; it does not",
            life,
        )


class AsSent(Rule):
    """A received payload is the one that was sent: it identifies itself, or its checksum is that of a send."""

    requirement = clauses.AS_SENT

    def promised(self) -> bool:
        return True

    def look(self, life: Life) -> None:
        for sub, copies in life.given.items():
            bad = next((row for row in copies if row.ok != _GOOD and self._differs(life, row)), None)
            if bad is not None:
                self.breach(
                    "changed",
                    f"{self.subscription(sub)} received {self.message(life)} at {at(bad.t)} as {id_of(bad)}; expected "
                    f"the payload that was sent; it received another (CRC-32 {bad.crc & 0xFFFFFFFF:08x})",
                    life,
                    sub,
                    shown=bad.ok == Integrity.BAD,
                )

    def _differs(self, life: Life, row: Delivery) -> bool:
        if self.info.self_checking or row.ok != Integrity.UNKNOWN:
            return row.ok == Integrity.BAD
        return self.info.checksums and bool(life.attempts) and row.crc not in {attempt.crc for attempt in life.attempts}
