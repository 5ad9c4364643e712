"""What exploration found, each cause once: findings of one requirement whose reduced Cases have one shape.

A reduced Case needs all that is left in it, so a failing Case that lacks a word of its shape has another cause. One
that has all of them is taken for the same: a person mends the first, and explores again.

What never came again on demand was not reduced, and its shape says nothing: it is a finding only as long as nothing
else of its (requirement, code) is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from assay_conformance.machines.signature import Shape, shape
from assay_conformance.model.case import Case

Breach = tuple[str, str]
"""(requirement, finding code)."""

MOST_SHAPES = 3
"""Causes of one (requirement, code) that are reported; a reader looks at no more. Further shapes are counted to the
first, which says so."""


@dataclass
class Cause:
    """`breach` is what its Case was reduced by, `also` what else breaks in it. `confirmed` of `tries` fresh runs of
    what was drawn showed it; `reproduced`: as many as were asked for. `minimal`: nothing can be taken from the Case;
    else there was no time, or it fails only sometimes. `shown_in` are the drawn Cases it showed in. `listed` are known
    failures that came and went with it in all of `together` runs: there is neither without the other, so they are
    taken for its cause. `other_shapes` are those of them that lack a word of its shape: there were causes enough."""

    breach: Breach
    case: Case
    also: frozenset[Breach] = frozenset()
    confirmed: int = 0
    tries: int = 0
    reproduced: bool = True
    minimal: bool = True
    took_s: float = 0.0
    listed: frozenset[Breach] = frozenset()
    together: int = 0
    shown_in: set[str] = field(default_factory=set)
    other_shapes: set[str] = field(default_factory=set)
    words: Shape = field(init=False)

    def __post_init__(self) -> None:
        self.words = shape(self.case)

    @property
    def breaches(self) -> frozenset[Breach]:
        return self.also | {self.breach}

    @property
    def seen(self) -> int:
        return len(self.shown_in)

    def explains(self, breach: Breach, words: Shape) -> bool:
        """Return whether a Case of these words may break so because of this cause."""
        return self.reproduced and breach in self.breaches and self.words <= words


class Causes:
    """Those found so far, in the order in which they were."""

    def __init__(self) -> None:
        self.found: list[Cause] = []

    def unexplained(self, case: Case, breaches: Iterable[Breach]) -> list[Breach]:
        """Return the breaches of a Case that no cause explains, and count those that one does."""
        words, left = shape(case), list[Breach]()
        for breach in breaches:
            cause = self._of(breach, words)
            if cause is None:
                left.append(breach)
            else:
                cause.shown_in.add(case.id)
                if not cause.explains(breach, words):
                    cause.other_shapes.add(case.id)
        return left

    def for_want_of_a_cause(self, breach: Breach) -> Cause | None:
        """Return the cause to which a breach that does not come again is counted, whatever the shape of its Case."""
        alike = (one for one in self.found if breach == one.breach or (one.reproduced and breach in one.breaches))
        return next(alike, None)

    def displace(self, cause: Cause) -> list[Cause]:
        """Remove the causes that never repeated, and break as this one does, which did; return them."""
        if not cause.reproduced:
            return []
        displaced = [one for one in self.found if not one.reproduced and one.breach in cause.breaches]
        self.found = [one for one in self.found if one.reproduced or one.breach not in cause.breaches]
        return displaced

    def add(self, cause: Cause) -> Cause:
        """Return the cause as it stands from now on: itself, or the known one that it turned out to be.

        A Case that nothing can be taken from stands for one that was not reduced to the end; what never repeated stands
        for no other.
        """
        for index, known in enumerate(self.found):
            same = cause.breach in known.breaches or known.breach in cause.breaches
            if known.reproduced and same and (known.words <= cause.words or cause.words <= known.words):
                # A listed failure is reported with the Case that it was recognised in.
                smaller = cause.minimal and not known.minimal and not (cause.listed or known.listed)
                self.found[index] = self._merged(cause, known) if smaller else self._merged(known, cause)
                return self.found[index]
        self.found.append(cause)
        return cause

    def _of(self, breach: Breach, words: Shape) -> Cause | None:
        alike = [cause for cause in self.found if cause.reproduced and breach in cause.breaches]
        fitting = [cause for cause in alike if cause.explains(breach, words)]
        if fitting or len(alike) < MOST_SHAPES:
            return fitting[0] if fitting else None
        return alike[0]

    def _merged(self, known: Cause, cause: Cause) -> Cause:
        known.shown_in |= cause.shown_in
        known.other_shapes |= cause.other_shapes
        known.also = (known.breaches | cause.breaches) - {known.breach}
        return known
