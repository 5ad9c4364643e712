"""Order: of a stream, of a key in it, and of chunks in a message."""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.ledger.info import Order
from assay_conformance.ledger.lives import Life
from assay_conformance.ledger.rows import Delivery, Outcome, place
from assay_conformance.ledger.rules.base import Rule, at, id_of
from assay_conformance.ledger.tables import Result
from assay_conformance.ledger.words import BUCKET_BITS


class KeepsSendOrder(Rule):
    """One producer's messages on a partition are stored, and come to a consumer for the first time, as they were sent.

    What the application sent a second time may be stored anywhere behind.
    """

    requirement = clauses.ORDER

    def promised(self) -> bool:
        return self.info.order is Order.PARTITION

    def look(self, life: Life) -> None:
        if not life.sent_once:
            return
        for sub, copies in life.given.items():
            late = next((row for row in copies if row.gap < 1 and row.redeliv == 0), None)
            if late is not None and self.evidence.scopes[sub, life.stream].ordered:
                self.breach("delivered-out-of-order", self._late(life, sub, late), life, sub)
        if self.info.order is Order.PARTITION:
            for row in life.outcomes:
                if row.code == Result.OK and row.ord < 1 and self._is_out_of_order(life, row):
                    self.breach(
                        "stored-out-of-order",
                        f"{self.message(life)} was told to be stored as {id_of(row)} at {at(row.t)}, before a message "
                        "that was sent earlier, or after one that was sent later",
                        life,
                    )

    def finish(self) -> None:
        for stream, seq, after in self.evidence.sums.behind:
            life = self.evidence.lives.get((stream, seq)) or Life(stream, seq)
            if life.sent_once:
                where = f" as {id_of(min(life.stored, key=place))}" if life.stored else ""
                sentence = f"{self.message(life)} is stored{where}, behind message {after}, which was sent later"
                self.breach("stored-behind-later", sentence, life)

    def _late(self, life: Life, sub: int, row: Delivery) -> str:
        return (
            f"{self.consumer(row.consumer)} of {self.subscription(sub)} got {self.message(life)} at {at(row.t)} for "
            f"the first time, when it had got message {life.seq - row.gap} already"
        )

    def _is_out_of_order(self, life: Life, row: Outcome) -> bool:
        """A message whose id came late is compared with those of its bucket: the receipts may just have been late."""
        if row.ord < 0:
            return True
        first = life.seq >> BUCKET_BITS << BUCKET_BITS
        for seq in range(first, first + (1 << BUCKET_BITS)):
            other = self.evidence.lives.get((life.stream, seq))
            if other is None or seq == life.seq or not other.sent_once:
                continue
            for outcome in other.outcomes:
                known = outcome.code == Result.OK and outcome.ledger >= 0
                if known and (place(outcome) < place(row)) != (seq < life.seq):
                    return True
        return False


class KeyKeepsOrder(Rule):
    """Messages of one stream and key come to a consumer for the first time as they were sent. Copies may come later."""

    requirement = clauses.KEY_ORDER

    def look(self, life: Life) -> None:
        if not life.sent_once:
            return
        for sub, copies in life.given.items():
            late = next((row for row in copies if row.kgap < 1 and row.redeliv == 0), None)
            if late is None or not self.evidence.scopes[sub, life.stream].keyed:
                continue
            key = self.small.keys.get(late.key)
            self.breach(
                "key-out-of-order",
                f"{self.consumer(late.consumer)} of {self.subscription(sub)} got {self.message(life)} of key "
                f"{key.text if key else late.key} at {at(late.t)} for the first time, when it had got message "
                f"{life.seq - late.kgap} of that key already",
                life,
                sub,
            )


class DeliversWholeOnly(Rule):
    """Of a message that is stored in chunks, and not in all of them, nothing is delivered."""

    requirement = clauses.CHUNKS

    def look(self, life: Life) -> None:
        topic = self.small.topics[self.small.streams[life.stream].topic]
        chunks = max((row.chunks for row in life.stored), default=1)
        there = {row.chunk for row in life.stored}
        if chunks < 2 or not topic.read_back or there >= set(range(chunks)):
            return
        missing = ", ".join(str(chunk) for chunk in sorted(set(range(chunks)) - there)[:5])
        for sub, copies in life.given.items():
            self.breach(
                "delivered-incomplete",
                f"{self.subscription(sub)} got {self.message(life)} at {at(copies[0].t)}; of its {chunks} chunks "
                f"{missing} are not stored",
                life,
                sub,
            )
