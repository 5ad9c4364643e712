"""How many messages a second, as a watcher hears of them: of the last while only, and what the rules that count say.

A breach of these is no message's. It is said when it has held for a moment: what lowers it, a consumer that came or a
fault that acted, is written at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from assay_conformance.ledger.clauses import DISPATCH, FLOWS, PUBLISH
from assay_conformance.ledger.collection import OF_TOPIC, Counted, Rows, Second, Small, Sums
from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.ledger.judge import judged
from assay_conformance.ledger.lives import Evidence
from assay_reports.spark.alarms import TOLD_LATER_S, WRITTEN_LATER_S, Alarm

COUNTING: Final = (DISPATCH, PUBLISH, FLOWS)
"""Requirements that are reported here."""

KEPT_S: Final = 40 * 60
"""A longer stretch is reported at the end."""


class Heard(NamedTuple):
    """So many in a second. `of`: a stream of what is a topic's, else a subscription."""

    what: Counted
    of: int
    second: int
    n: int


@dataclass
class Flows:
    info: LedgerInfo
    last_second: int = 0
    """The last one of which anything is known."""
    _counts: dict[tuple[Counted, int], dict[int, int]] = field(default_factory=dict)
    _since_s: dict[tuple[str, int, int], float] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Return how many counts are kept in memory."""
        return sum(map(len, self._counts.values()))

    def take(self, heard: Iterable[Heard]) -> None:
        """Take in counts of seconds as they are now; the same ones may come several times, in any order."""
        before = self.last_second
        for one in heard:
            self._counts.setdefault((one.what, one.of), {})[one.second] = one.n
            self.last_second = max(self.last_second, one.second)
        if self.last_second > before:
            self._let_go()

    def series(self, small: Small) -> tuple[Second, ...]:
        """Return the counts as `Sums` has them, of the streams that have a name by now."""
        found: Counter[tuple[Counted, int, int]] = Counter()
        for (what, of), seconds in self._counts.items():
            if what in OF_TOPIC and of not in small.streams:
                continue
            number = small.streams[of].topic if what in OF_TOPIC else of
            for second, n in seconds.items():
                found[what, number, second] += n
        return tuple(Second(*key, n) for key, n in sorted(found.items()))

    def alarms(self, small: Small, now_s: float) -> Iterator[Alarm]:
        """Yield what holds by any clock that does not go back, and has held for a moment."""
        end_us = int((self.last_second - WRITTEN_LATER_S) * 1_000_000)
        evidence = Evidence(Rows(), small, self.info, Sums({}, series=self.series(small), end_us=end_us))
        held = {}
        for rule in judged(evidence):
            for breach in rule.breaches if rule.requirement in COUNTING else ():
                place = (rule.requirement, breach.sub, breach.about)
                held[place] = since_s = self._since_s.get(place, now_s)
                if now_s >= since_s + TOLD_LATER_S:
                    yield Alarm(rule.requirement, breach.sub, breach.stream, breach.seq, breach.sentence, breach.about)
        self._since_s = held

    def _let_go(self) -> None:
        for (what, _), seconds in self._counts.items():
            old = [second for second in seconds if second < self.last_second - KEPT_S]
            # Of refusals the first one is asked for, however long ago it was.
            first = min(seconds) if what is Counted.REFUSED else None
            for second in old:
                if second != first:
                    del seconds[second]
