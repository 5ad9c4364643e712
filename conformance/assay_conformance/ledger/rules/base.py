"""How a rule is written: one class a requirement, shown one life after the other.

    class Lost(Rule):
        requirement = clauses.LOST

        def look(self, life: Life) -> None: ...

A rule judges a life by its own rows, the small tables and the sums, never by other lives outside of its bucket: so it
says the same of the flagged buckets as of the whole ledger. Times of two writers are compared beyond the error of their
clocks only.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from assay_conformance.ledger.collection import US_PER_S
from assay_conformance.ledger.lives import Evidence, Life
from assay_conformance.ledger.rows import Ack, Delivery, Outcome, Stored
from assay_conformance.ledger.tables import NONE
from assay_conformance.model.verdict import Verdict

KEPT = 20
"""Breaches listed of a requirement; the others are counted."""

_PRUNED_AT = 1_000


class Breach(NamedTuple):
    """Sorted as findings are. `sub` is -1 where it is no subscription's matter, `stream` where it is no message's; then
    `about` distinguishes breaches of one subscription: the topic, or the epoch, that it is about."""

    sub: int
    stream: int
    seq: int
    code: str
    sentence: str
    about: int = NONE


class Rule:
    """Base of all rules: a fresh instance judges one ledger."""

    requirement: ClassVar[str]
    holds: ClassVar[Verdict] = Verdict.PASS
    """What it comes to without a breach."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.info = evidence.info
        self.small = evidence.small
        self.count = 0
        self.doubt = ""
        """Why something could not be decided."""
        self.remark = ""
        self._breaches: list[Breach] = []

    def look(self, life: Life) -> None:
        """Look at one life, with everything its rows say."""

    def finish(self) -> None:
        """Finish: all lives have been seen."""

    def promised(self) -> bool:
        """Return whether this ledger is of a run in which the requirement could have been broken."""
        return bool(self.exercised())

    def exercised(self) -> int:
        return self.evidence.sums.exercised.get(self.requirement, 0)

    @property
    def breaches(self) -> list[Breach]:
        """The first of them."""
        return self.known[:KEPT]

    @property
    def known(self) -> list[Breach]:
        """More of them, for rules that report each of few buckets."""
        return sorted(self._breaches)

    def breach(
        self,
        code: str,
        sentence: str,
        life: Life | None = None,
        sub: int = NONE,
        about: int = NONE,
        *,
        shown: bool = False,
    ) -> None:
        """Add a breach.

        `shown`: by rows that are there, whatever others would say. Else it is none where some cannot be read.
        """
        if not shown and self.evidence.unread(life, sub):
            self.undecided(f"{self.evidence.unread_reason}, and may explain it: {sentence}")
            return
        stream, seq = (life.stream, life.seq) if life else (NONE, NONE)
        self.count += 1
        self._breaches.append(Breach(sub, stream, seq, code, sentence, about))
        if len(self._breaches) > _PRUNED_AT:
            self._breaches = self.breaches

    def undecided(self, reason: str) -> None:
        self.doubt = self.doubt or reason

    def message(self, life: Life) -> str:
        """Return how a sentence names a message."""
        stream = self.small.streams[life.stream]
        return f"message {life.seq} of producer {stream.producer} on topic {self.small.topics[stream.topic].name}"

    def subscription(self, sub: int) -> str:
        return f"subscription {self.small.subscriptions[sub].name}"

    def consumer(self, number: int) -> str:
        return f"consumer {self.small.consumers[number].name}"


def at(t: int) -> str:
    """Return a time for a sentence: seconds of the run, to the millisecond."""
    return f"{t / US_PER_S:.3f} s"


def took(us: int) -> str:
    return f"{us / 1_000:.1f} ms"


def id_of(row: Outcome | Delivery | Ack | Stored) -> str:
    """Return a message id for a sentence."""
    return f"{row.ledger}:{row.entry}" + (f":{row.batch}" if row.batch >= 0 else "")
