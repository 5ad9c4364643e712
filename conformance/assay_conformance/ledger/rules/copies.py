"""How often a message may be received and stored."""

from __future__ import annotations

from itertools import pairwise

from assay_conformance.judging.worlds import Kind, Sent, Standing, counted
from assay_conformance.ledger import clauses
from assay_conformance.ledger.info import Origin
from assay_conformance.ledger.lives import UNBATCHED, Life
from assay_conformance.ledger.rows import Delivery, place
from assay_conformance.ledger.rules.base import Rule, at, id_of, took
from assay_conformance.ledger.tables import NONE


class WithinContract(Rule):
    """A message is received again for a reason: it was nacked, not acknowledged in time, a consumer was added or left,
    a fault acted; or it is stored again, because its producer got no receipt for the first copy. And not too often.

    A nack brings other messages back, too: on an ordered subscription everything after the mark-delete position, of a
    batch the whole entry. Connections lost without a fault are known in our own runs only: other logs are not judged.
    """

    requirement = clauses.CONTRACT

    def promised(self) -> bool:
        return True

    def look(self, life: Life) -> None:
        for sub, copies in life.given.items():
            limit = self.small.subscriptions[sub].max_redeliv
            if limit >= 0 and (most := max(copies, key=lambda row: row.redeliv)).redeliv > limit:
                self.breach(
                    "too-often",
                    f"{self.subscription(sub)} received {self.message(life)} at {at(most.t)} with a redelivery count "
                    f"of {most.redeliv}; expected at most {limit}",
                    life,
                    sub,
                    shown=True,
                )
            if len(copies) > 1 and self.info.origin is not Origin.MAPPED:
                self._second_copies(life, sub, copies)

    def _second_copies(self, life: Life, sub: int, copies: list[Delivery]) -> None:
        if self.small.subscriptions[sub].ack_timeout != NONE or life.nacks(sub):
            return
        for before, copy in pairwise(copies):
            stored_again = place(before) != place(copy)
            explained = self._stored_again(life) if stored_again else self._comes_back(life, sub, before, copy)
            if not explained:
                self.breach(
                    "unasked",
                    f"{self.subscription(sub)} received {self.message(life)} at {at(before.t)} as {id_of(before)} and "
                    f"again at {at(copy.t)} as {id_of(copy)}, {took(copy.t - before.t)} later; expected it once, since "
                    "it was neither nacked nor disturbed by a fault or a change of consumers",
                    life,
                    sub,
                )
                return

    def _comes_back(self, life: Life, sub: int, before: Delivery, copy: Delivery) -> bool:
        error_us = self.evidence.clock_error(consumers=(before.consumer, copy.consumer))
        if error_us is None:
            return True
        scope = self.evidence.scopes[sub, life.stream]
        spreads = not scope.shared or copy.batch != UNBATCHED
        if spreads and self.evidence.refused_before(sub, copy.t + error_us):
            return True
        return self.evidence.disturbed(sub, before.t - error_us, copy.t + error_us)

    def _stored_again(self, life: Life) -> bool:
        """Return whether a copy is within the contract: a producer sends again what it got no receipt for.

        With deduplication it is stored once all the same.
        """
        if not life.sent_once:
            return True
        if self.small.topics[self.small.streams[life.stream].topic].dedup or not life.attempts:
            return not life.attempts
        until_us = self.evidence.end_us if life.confirmed_at is None else life.confirmed_at
        return self.evidence.faulted(None, life.attempts[0].t, until_us)


class EffectivelyOnce(Rule):
    """On a topic that deduplicates, what was sent once is stored once.

    Of a chunked message the broker checks only the last chunk: the others may be stored twice.
    """

    requirement = clauses.DEDUP

    def promised(self) -> bool:
        return any(topic.dedup and topic.read_back for topic in self.small.topics.values())

    def look(self, life: Life) -> None:
        topic = self.small.topics[self.small.streams[life.stream].topic]
        first = [row for row in life.stored if row.chunks == 1]
        once = counted([Sent(life.seq, Standing.POSSIBLE)], [life.seq] * len(first), once=True) if topic.dedup else ()
        if life.sent_once and any(found.kind is Kind.TWICE for found in once):
            where = ", ".join(id_of(row) for row in sorted(first, key=place))
            sentence = f"{self.message(life)} was sent once; expected it to be stored once; it is stored as {where}"
            self.breach("stored-twice", sentence, life)
