"""Which consumer a key belongs to."""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.ledger.info import Origin
from assay_conformance.ledger.keys import Moved
from assay_conformance.ledger.lives import Life
from assay_conformance.ledger.rules.base import Rule, at


class KeepsKeys(Rule):
    """While no consumer attaches or leaves, a key of a Key_Shared subscription stays with its consumer.

    Of connections that broke by themselves only our own runs know: then others came and went.
    """

    requirement = clauses.KEEPS_KEYS

    def exercised(self) -> int:
        return 0 if self.info.origin is Origin.MAPPED else super().exercised()

    def finish(self) -> None:
        for one in self.evidence.sums.moved if self.info.origin is not Origin.MAPPED else ():
            error_us = self.evidence.clock_error(consumers=(one.turn.consumer, one.other.consumer))
            if error_us is None:
                self.undecided("how far the clocks of two consumers differ is unknown")
            elif one.turn.last_us > one.other.first_us + error_us and one.other.last_us > one.turn.first_us + error_us:
                self._judge(one)

    def _judge(self, one: Moved) -> None:
        life = self.evidence.lives.get((one.stream, one.seq)) or Life(one.stream, one.seq)
        key = self.small.keys.get(one.turn.key)
        self.breach(
            "key-at-two-consumers",
            f"{self.subscription(one.turn.sub)}: key {key.text if key else one.turn.key} went to "
            f"{self.consumer(one.turn.consumer)} from {at(one.turn.first_us)} to {at(one.turn.last_us)}; expected no "
            f"other consumer to get it, since none was added or left; {self.consumer(one.other.consumer)} received "
            f"{self.message(life)} of that key at {at(one.other.first_us)}",
            life,
            one.turn.sub,
        )
