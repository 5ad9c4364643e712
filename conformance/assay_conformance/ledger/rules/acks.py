"""What an acknowledgment ends, and what lasts without one.

Messages of a batch are judged elsewhere: an entry comes back whole as long as one of its messages is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.ledger import clauses
from assay_conformance.ledger.lives import UNBATCHED, Life
from assay_conformance.ledger.rows import Ack, Delivery, place
from assay_conformance.ledger.rules.base import Rule, at, id_of
from assay_conformance.ledger.tables import Again


class _AcknowledgedRule(Rule):
    def outlived(self, life: Life, sub: int) -> Iterator[tuple[Ack, Delivery, int]]:
        """Yield each acknowledgment that succeeded, a later delivery of the same copy, and how far clocks may differ.

        A refusal after the acknowledgment asks to see the message again.
        """
        for ack in life.acks(sub):
            if ack.t_done is None or ack.batch != UNBATCHED:
                continue
            for copy in life.given.get(sub, ()):
                error_us = self.evidence.clock_error(consumers=(ack.consumer, copy.consumer))
                if error_us is None:
                    self.undecided("the clocks of two consumers differ by an unknown amount")
                elif (
                    copy.t > ack.t_done + error_us
                    and place(copy) == place(ack)
                    and not any(ack.t <= nack.t <= copy.t for nack in life.nacks(sub))
                ):
                    yield ack, copy, error_us


class SurvivesLoad(_AcknowledgedRule):
    """What was acknowledged long enough before a broker ended does not come again after that."""

    requirement = clauses.SURVIVES

    def look(self, life: Life) -> None:
        for sub in life.said:
            for ack, copy, error_us in self.outlived(life, sub):
                epoch = next(
                    (
                        epoch
                        for epoch in self.evidence.epochs_of(sub)
                        if epoch.restart
                        and (ack.t_done or 0) + self.info.durable_us + error_us <= epoch.t_from
                        and copy.t > (epoch.t_from if epoch.t_to is None else epoch.t_to) + error_us
                    ),
                    None,
                )
                if epoch is not None:
                    self.breach(
                        "came-again",
                        f"{self.message(life)} was acknowledged on {self.subscription(sub)} at {at(ack.t_done or 0)}; "
                        f"after {epoch.action} of {epoch.target} at {at(epoch.t_from)} it came again at {at(copy.t)}",
                        life,
                        sub,
                    )
                    break


class AckedNotRedelivered(_AcknowledgedRule):
    """Without a fault, and while no consumer attaches or leaves, what was acknowledged does not come again.

    A copy that goes to another consumer is seen where that one acknowledges it, too.
    """

    requirement = clauses.ENDS

    def look(self, life: Life) -> None:
        for sub in life.said:
            for ack, copy, error_us in self.outlived(life, sub):
                seen = copy.again == Again.ACKED or len(life.acks(sub)) > 1
                settled_us = (ack.t_done or 0) + self.info.durable_us + error_us
                if seen and copy.t > settled_us and not self.evidence.disturbed(sub, ack.t, copy.t):
                    self.breach(
                        "came-again",
                        f"{self.message(life)} was acknowledged on {self.subscription(sub)} at {at(ack.t_done or 0)} "
                        f"and came again at {at(copy.t)} as {id_of(copy)}",
                        life,
                        sub,
                    )
                    break


class KeepsWhatIsUnacked(Rule):
    """What a consumer that left had not acknowledged comes again, to those who stay."""

    requirement = clauses.KEEPS

    def look(self, life: Life) -> None:
        for sub, copies in life.given.items():
            subscription = self.small.subscriptions[sub]
            acking = self.evidence.scopes[sub, life.stream].acks
            if not subscription.whole or not acking or life.acks(sub) or life.nacks(sub):
                continue
            left = [self.small.consumers[row.consumer] for row in copies]
            gone_at = max((self.evidence.end_us if who.t_to is None else who.t_to) for who in left)
            if any(who.t_to is None for who in left) or not self.evidence.served(sub, gone_at):
                continue
            if any(self.evidence.killed_with_rows(who, row.t) for who, row in zip(left, copies, strict=True)):
                continue
            if self.evidence.rows_lost(sub, gone_at):
                continue
            self.breach(
                "forgotten",
                f"{self.message(life)} was last given to {self.consumer(copies[-1].consumer)} of "
                f"{self.subscription(sub)}, which left at {at(gone_at)} without acknowledging it; it never came again",
                life,
                sub,
            )
