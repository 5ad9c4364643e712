"""Which of the drawn Cases to run first: those likely to exercise what few Cases have exercised yet.

Pure and simple: a Case's traits (the words of its shape, its faults) are all it knows of a Case before it runs. What a
Case with a trait exercised, others with it may exercise, too, and the states in which faults met its client, faults may
meet again; two traits that have not met yet are worth a try by themselves. A clause that no Case has exercised yet is
sought by the traits of the Cases that were written for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from assay_conformance.machines.coverage import Coverage, Pair, label
from assay_conformance.machines.signature import shape
from assay_conformance.machines.sparing import Sparing
from assay_conformance.model.case import Case

RARE = 20
"""Cases that exercised a clause, or met a fault in a state, before it is no longer sought."""

_NEW_MEETING = 0.05
"""What a pair of traits that has not been run together is worth, in clauses that are sure to be exercised."""

_ANY_SHARE = 0.25
"""The share of what is run that was not chosen for what it promises."""

_UNSEEN = 0.5
"""What a Case is worth that has all the traits of one that was written for a clause not exercised yet."""


class Steering:
    """Records every Case that was run, and ranks those that may be run next. `written`: clause -> Cases that exercise
    it by themselves."""

    def __init__(self, clauses: Iterable[str], written: Mapping[str, Iterable[Case]] = MappingProxyType({})) -> None:
        self.clauses: Counter[str] = Counter(dict.fromkeys(clauses, 0))
        """Clause -> Cases that exercised it."""
        self.pairs: Counter[Pair] = Counter()
        self._faults: Counter[str] = Counter()
        self._runs: Counter[str] = Counter()
        self._shown: dict[str, Counter[str]] = {}
        self._states: dict[str, Counter[str]] = {}
        """Trait -> state -> Cases with it in which a fault met the client in that state."""
        self._meetings = _Meetings()
        self._sparing = Sparing()
        self._written = {name: [frozenset(_traits(case)) for case in cases] for name, cases in written.items()}

    def saw(self, case: Case, exercised: Collection[str], covered: Coverage, *, hides: bool = False) -> None:
        """Note that a Case was run; `hides`: it showed what is listed, which would hide a new failure."""
        self.clauses.update(name for name in exercised if name in self.clauses)
        self.pairs.update(covered.pairs)
        self._faults.update(fault for _, fault in covered.pairs)
        traits = _traits(case)
        self._runs.update(traits)
        self._meetings.saw(traits)
        self._sparing.saw(traits, covered, broke=hides)
        states = {state for state, _ in covered.pairs}
        for trait in traits:
            self._shown.setdefault(trait, Counter()).update(exercised)
            self._states.setdefault(trait, Counter()).update(states)

    def best(self, cases: Sequence[Case], count: int) -> list[Case]:
        """Return the most promising Cases, and some drawn first, `count` in all, in the order in which they were drawn.

        Those drawn first come whatever they promise: a plain Case promises little, and some things show in plain Cases
        alone. Cases that are likely to show what is listed leave their places to others.
        """
        rare = _Shares(self._shown, self._runs, [name for name, seen in self.clauses.items() if 0 < seen < RARE])
        states = _Shares(self._states, self._runs, sorted({state for state, _ in self.pairs}))
        worth = [self._promise(case, rare, states) for case in cases]
        ranked = sorted(range(len(cases)), key=lambda index: -worth[index])
        promising = count - int(count * _ANY_SHARE)
        others = sorted(ranked[promising:])[: count - promising]
        chosen = self._sparing.exchanged(list(map(_traits, cases)), worth, ranked[:promising] + others)
        return [cases[index] for index in sorted(chosen)]

    def _promise(self, case: Case, rare: _Shares, states: _Shares) -> float:
        traits = _traits(case)
        meetings = _NEW_MEETING * self._meetings.new_ones(traits)
        faults = {label(fault) for fault in case.faults}
        seldom = sum(1 / (1 + self._faults[fault] / RARE) for fault in faults)
        new = self._new_pairs(states, traits, faults) + self._new_clauses(frozenset(traits))
        return sum(rare.largest(traits)) + meetings + seldom + new

    def _new_clauses(self, traits: frozenset[str]) -> float:
        """Return what a Case has of the traits written for each clause not yet met.

        Half of the traits are far from half of the way.
        """
        unseen = (self._written.get(name, ()) for name, seen in self.clauses.items() if not seen)
        return _UNSEEN * sum(max((_part(other, traits) ** 2 for other in others), default=0.0) for others in unseen)

    def _new_pairs(self, states: _Shares, traits: Sequence[str], faults: Collection[str]) -> float:
        """Return how many pairs that are still sought a Case may come to, by the states that its traits have led to."""
        worth = [sum(self._weight((state, fault)) for fault in faults) for state in states.names]
        return sum(chance * sought for chance, sought in zip(states.largest(traits), worth, strict=False))

    def _weight(self, pair: Pair) -> float:
        """Return 1 for a pair not seen yet, 0 for one that was seen often."""
        return max(0.0, 1 - self.pairs[pair] / RARE)


class _Meetings:
    """Which traits have been in one Case: for each of them a number, whose bits are the others."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._met: dict[str, int] = {}

    def saw(self, traits: Sequence[str]) -> None:
        """Note that these traits were in one Case."""
        together = self._together(traits)
        for trait in traits:
            self._met[trait] = self._met.get(trait, 0) | together

    def new_ones(self, traits: Sequence[str]) -> int:
        """Return how many pairs of these traits have not been in one Case."""
        together = self._together(traits)
        strangers = (together & ~(self._met.get(trait, 0) | self._bits[trait]) for trait in traits)
        return sum(map(int.bit_count, strangers)) // 2

    def _together(self, traits: Iterable[str]) -> int:
        together = 0
        for trait in traits:
            together |= self._bits.setdefault(trait, 1 << len(self._bits))
        return together


class _Shares:
    """Of the Cases with a trait, the share that has shown each of `names`: worked out once for a round of Cases, which
    have most of their traits in common."""

    def __init__(self, shown: Mapping[str, Counter[str]], runs: Mapping[str, int], names: Sequence[str]) -> None:
        self.names = names
        self._shown = shown
        self._runs = runs
        self._rows: dict[str, list[float]] = {}

    def largest(self, traits: Iterable[str]) -> Iterable[float]:
        """Return for each name the largest share among these traits; nothing where none of them has been run."""
        return map(max, zip(*(self._row(trait) for trait in traits if trait in self._shown), strict=True))

    def _row(self, trait: str) -> list[float]:
        row = self._rows.get(trait)
        if row is None:
            row = self._rows[trait] = [self._shown[trait][name] / self._runs[trait] for name in self.names]
        return row


def _part(wanted: frozenset[str], traits: frozenset[str]) -> float:
    return len(wanted & traits) / max(1, len(wanted))


def _traits(case: Case) -> list[str]:
    return sorted(shape(case) | {label(fault) for fault in case.faults})
