"""Order: of a stream, of a key in it, and of chunks in a message."""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.ledger.info import Order, Origin
from assay_conformance.ledger.lives import UNBATCHED, Evidence, Life
from assay_conformance.ledger.rows import Delivery, Outcome, place
from assay_conformance.ledger.rules.base import Rule, at, id_of
from assay_conformance.ledger.tables import NONE, Result
from assay_conformance.ledger.words import BUCKET_BITS


class KeepsSendOrder(Rule):
    """One producer's messages on a partition are stored, and come to a consumer for the first time, as they were sent.

    What the application sent a second time may be stored anywhere after.
    """

    requirement = clauses.ORDER

    def promised(self) -> bool:
        return self.info.order is Order.PARTITION

    def look(self, life: Life) -> None:
        if not life.sent_once:
            return
        for sub, copies in life.given.items():
            late = next((row for row in copies if row.gap < 1 and row.redeliv == 0), None)
            if late is None or not self.evidence.scopes[sub, life.stream].ordered:
                continue
            if not forgotten(self.evidence, sub, copies, late):
                self.breach("delivered-out-of-order", self._late(life, sub, late), life, sub)
        if self.info.order is Order.PARTITION:
            for row in life.outcomes:
                if row.code == Result.OK and row.ord < 1 and self._is_out_of_order(life, row):
                    self.breach(
                        "stored-out-of-order",
                        f"the send of {self.message(life)} succeeded at {at(row.t)} with id {id_of(row)}; expected ids "
                        "in the order of sends; it is before a message that was sent earlier, or after one sent later",
                        life,
                    )

    def finish(self) -> None:
        for stream, seq, after in self.evidence.sums.behind:
            life = self.evidence.lives.get((stream, seq)) or Life(stream, seq)
            if life.sent_once:
                where = f" as {id_of(min(life.stored, key=place))}" if life.stored else ""
                sentence = (
                    f"{self.message(life)} is stored{where}; expected it before message {after}, which was sent later; "
                    "it comes after it"
                )
                self.breach("stored-behind-later", sentence, life)

    def _late(self, life: Life, sub: int, row: Delivery) -> str:
        return (
            f"{self.consumer(row.consumer)} of {self.subscription(sub)} received {self.message(life)} for the first "
            f"time at {at(row.t)}; expected it before message {life.seq - row.gap}, which it had received already"
        )

    def _is_out_of_order(self, life: Life, row: Outcome) -> bool:
        """Return whether a message is out of order.

        One whose id came late is compared with those of its bucket: the receipts may just have been late.
        """
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
    """Messages of one stream and key come to a subscription for the first time in the order of their sends, whichever
    consumer gets them; and what a consumer that left had not acknowledged comes to the next one in that order, too.

    Other copies may come later, and so may messages with a delivery time. Connections lost without a fault are known in
    our own runs only: then a consumer may receive messages from its queue late, after it has lost the key.
    """

    requirement = clauses.KEY_ORDER

    def look(self, life: Life) -> None:
        if not life.sent_once or any(row.deliver_at is not None for row in life.attempts):
            return
        for sub, copies in life.given.items():
            if not self.evidence.scopes[sub, life.stream].keyed:
                continue
            late = next((row for row in copies if row.kgap < 1 and self._in_turn(life, sub, copies, row)), None)
            if late is not None:
                what = (
                    "for the first time" if late is copies[0] else f"which {self._before(copies)} had not acknowledged"
                )
                self.breach(
                    "key-out-of-order",
                    f"{self.consumer(late.consumer)} of {self.subscription(sub)} received {self.message(life)} of key "
                    f"{self._key(late.key)} at {at(late.t)}, {what}; expected it before message {life.seq - late.kgap} "
                    "of that key, which it had received already",
                    life,
                    sub,
                )

    def finish(self) -> None:
        for one in self.evidence.sums.overtaken if self.info.origin is not Origin.MAPPED else ():
            life = self.evidence.lives.get((one.stream, one.seq)) or Life(one.stream, one.seq)
            error_us = self.evidence.clock_error(consumers=(one.consumer, one.by_consumer))
            if error_us is None:
                self.undecided("how far the clocks of two consumers differ is unknown")
            elif life.sent_once and one.by_t + error_us < one.t and self._calm(one.sub, one.by_t, one.t + error_us):
                self.breach(
                    "key-overtaken",
                    f"{self.consumer(one.consumer)} of {self.subscription(one.sub)} received {self.message(life)} of "
                    f"key {self._key(one.key)} for the first time at {at(one.t)}; expected it before message "
                    f"{one.by_seq} of that key, which {self.consumer(one.by_consumer)} had received at {at(one.by_t)}",
                    life,
                    one.sub,
                )

    def _calm(self, sub: int, from_us: int, to_us: int) -> bool:
        asks_again = self.small.subscriptions[sub].ack_timeout != NONE
        return not asks_again and not self.evidence.faulted(sub, from_us, to_us)

    def _in_turn(self, life: Life, sub: int, copies: list[Delivery], row: Delivery) -> bool:
        """Return whether nothing but the order of its key decides when this copy comes."""
        if row.redeliv == 0:
            return not forgotten(self.evidence, sub, copies, row)
        before = [copy for copy in copies if copy.t < row.t]
        left = [self.small.consumers[copy.consumer].t_to for copy in before if copy.consumer != row.consumer]
        return (
            0 < len(left) == len(before)
            and all(t_to is not None and t_to <= row.t for t_to in left)
            and row.batch == UNBATCHED
            and not any(said.t <= row.t for said in life.said.get(sub, ()))
            and self.info.origin is not Origin.MAPPED
            and self._calm(sub, copies[0].t, row.t)
        )

    def _before(self, copies: list[Delivery]) -> str:
        return self.consumer(copies[0].consumer)

    def _key(self, number: int) -> str:
        key = self.small.keys.get(number)
        return key.text if key else str(number)


class DeliversWholeOnly(Rule):
    """A message of which not all chunks are stored is not received."""

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
                f"{self.subscription(sub)} received {self.message(life)} at {at(copies[0].t)}; expected it not to be "
                f"received, since of its {chunks} chunks {missing} are not stored",
                life,
                sub,
            )


def forgotten(evidence: Evidence, sub: int, copies: list[Delivery], row: Delivery) -> bool:
    """Return whether it had come before, and a broker that ended since may have lost the subscription's position."""
    return row is not copies[0] and any(
        epoch.restart and epoch.t_from <= row.t and (epoch.t_to is None or copies[0].t <= epoch.t_to)
        for epoch in evidence.epochs_of(sub)
    )
