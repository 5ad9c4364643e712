"""What a refusal brings about."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.ledger import clauses
from assay_conformance.ledger.lives import UNBATCHED, Life
from assay_conformance.ledger.rows import Ack, Delivery
from assay_conformance.ledger.rules.base import Rule, at, took
from assay_conformance.ledger.tables import NONE


class _WaitingRule(Rule):
    def waits(self, life: Life, sub: int) -> Iterator[tuple[Delivery, int]]:
        """Yield deliveries that came only because their own consumer had refused them, and how long they took.

        On an ordered subscription another message's refusal brings them as well, and so it does in a batch.
        """
        scope = self.evidence.scopes[sub, life.stream]
        if not scope.shared or scope.nack_delay < 0 or self.small.subscriptions[sub].ack_timeout != NONE:
            return
        for copy in life.given[sub]:
            if copy.again and copy.wait is not None and copy.batch == UNBATCHED:
                asked = any(nack.consumer == copy.consumer and nack.t < copy.t for nack in life.nacks(sub))
                if asked and not self.evidence.disturbed(sub, copy.t - copy.wait, copy.t):
                    yield copy, copy.wait


class LeastDelay(_WaitingRule):
    """However short the delay: what is refused does not come back at once."""

    requirement = clauses.LEAST

    def look(self, life: Life) -> None:
        for sub in life.given:
            for copy, wait in self.waits(life, sub):
                least = min(clauses.LEAST_DELAY_US, self.small.subscriptions[sub].nack_delay)
                if wait < least:
                    self.breach(
                        "at-once",
                        f"{self.consumer(copy.consumer)} refused {self.message(life)} and got it again at "
                        f"{at(copy.t)}, {took(wait)} later, where {took(least)} is the least",
                        life,
                        sub,
                    )


class RedeliveredInWindow(_WaitingRule):
    """A refused message comes again: not before its delay, and not never."""

    requirement = clauses.WINDOW

    def look(self, life: Life) -> None:
        for sub in life.given:
            for copy, wait in self.waits(life, sub):
                delay = self.small.subscriptions[sub].nack_delay
                if wait < delay:
                    self.breach(
                        "too-early",
                        f"{self.consumer(copy.consumer)} refused {self.message(life)} and got it again at "
                        f"{at(copy.t)}, {took(wait)} later, with a delay of {took(delay)}",
                        life,
                        sub,
                    )
        for sub in life.said:
            nacks = life.nacks(sub)
            if nacks and not life.acks(sub) and self._never_came(life, sub, nacks[-1]):
                if not self.info.each_ack_recorded:
                    self.undecided("a cumulative acknowledgment may have ended what was refused, and no row says so")
                    continue
                self.breach(
                    "never-again",
                    f"{self.consumer(nacks[-1].consumer)} refused {self.message(life)} at {at(nacks[-1].t)}; "
                    f"no consumer of {self.subscription(sub)} got it after that, up to {at(self.evidence.end_us)}",
                    life,
                    sub,
                )

    def _never_came(self, life: Life, sub: int, nack: Ack) -> bool:
        copies = life.given.get(sub, [])
        subscription = self.small.subscriptions[sub]
        if not subscription.whole or any(copy.t >= nack.t for copy in copies):
            return False
        if subscription.max_redeliv >= 0 and any(copy.redeliv >= subscription.max_redeliv for copy in copies):
            return False
        due_us = nack.t + max(subscription.nack_delay, 0)
        return self.evidence.served(sub, due_us) and not self.evidence.rows_lost(sub, nack.t)


class RedeliveriesCounted(Rule):
    """A copy that was asked for by a refusal says that it is one, on subscriptions whose broker counts."""

    requirement = clauses.COUNTED

    def look(self, life: Life) -> None:
        for sub, copies in life.given.items():
            if not self.evidence.scopes[sub, life.stream].shared:
                continue
            for copy in copies:
                if copy.again and not copy.redeliv and self._was_refused(life, sub, copy):
                    self.breach(
                        "not-counted",
                        f"{self.consumer(copy.consumer)} refused {self.message(life)} and got it again at "
                        f"{at(copy.t)}; its redelivery count is 0",
                        life,
                        sub,
                    )
                    break

    def _was_refused(self, life: Life, sub: int, copy: Delivery) -> bool:
        mine = [nack.t for nack in life.nacks(sub) if nack.consumer == copy.consumer and nack.t < copy.t]
        first = life.given[sub][0].t
        return bool(mine) and not self.evidence.disturbed(sub, first, copy.t) and len(life.places) < 2
