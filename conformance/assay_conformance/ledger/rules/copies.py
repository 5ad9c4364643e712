"""How often a message may come."""

from __future__ import annotations

from itertools import pairwise

from assay_conformance.ledger import clauses
from assay_conformance.ledger.info import Origin
from assay_conformance.ledger.lives import UNBATCHED, Life
from assay_conformance.ledger.rows import Delivery, place
from assay_conformance.ledger.rules.base import Rule, at, id_of, took
from assay_conformance.ledger.tables import NONE


class WithinContract(Rule):
    """A message comes again for a reason: it was refused, not acknowledged in time, a consumer came or went, a fault
    acted; or it is stored again, because its producer had not heard of the first copy. And not too often.

    A refusal brings the neighbours back, too: on an ordered subscription everything behind the mark, of a batch the
    whole entry. Of connections that broke by themselves only our own runs know: other logs are not asked for reasons.
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
                    f"{self.subscription(sub)} got {self.message(life)} at {at(most.t)} with a redelivery count of "
                    f"{most.redeliv}, where {limit} is the most",
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
                    f"{self.subscription(sub)} got {self.message(life)} at {at(before.t)} as {id_of(before)} and again "
                    f"at {at(copy.t)} as {id_of(copy)}, {took(copy.t - before.t)} later; nobody had asked for that",
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
        """A producer sends again what it was not told of. Where the broker remembers, that stays one copy."""
        if not life.sent_once:
            return True
        if self.small.topics[self.small.streams[life.stream].topic].dedup or not life.attempts:
            return not life.attempts
        told_at = life.told_at
        until_us = self.evidence.end_us if told_at is None else told_at
        return self.evidence.faulted(None, life.attempts[0].t, until_us)


class EffectivelyOnce(Rule):
    """On a topic that deduplicates, what was sent once is stored once.

    Of a message in chunks only the last is looked at by the broker: the others may be there twice.
    """

    requirement = clauses.DEDUP

    def promised(self) -> bool:
        return any(topic.dedup and topic.read_back for topic in self.small.topics.values())

    def look(self, life: Life) -> None:
        topic = self.small.topics[self.small.streams[life.stream].topic]
        first = [row for row in life.stored if row.chunks == 1]
        if topic.dedup and life.sent_once and len(first) > 1:
            where = ", ".join(id_of(row) for row in sorted(first, key=place))
            self.breach("stored-twice", f"{self.message(life)} was sent once and is stored as {where}", life)
