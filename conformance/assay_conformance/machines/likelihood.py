"""How likely a Case is to show something, by its traits: learned of the Cases that were run, one after the other.

A logistic regression, for what breaks a client needs several traits at once, such as chunks and a lost connection, of
which each is harmless alone; a count by trait would blame both. Each weight moves less the more often it moved, so that
common traits settle soon and a rare one is still learned late.
"""

from __future__ import annotations

import math
from collections.abc import Collection

_PACE = 0.4
"""How far a weight moves at first."""

_CAUTION = 0.1
"""Error squared that each weight is taken to have seen: what came once proves little."""

_BIAS = ""
"""The trait of every Case."""

_SURE = 30.0


class Likelihood:
    """Of one outcome."""

    def __init__(self) -> None:
        self._weights: dict[str, float] = {}
        self._errors: dict[str, float] = {}
        """Trait -> the sum of the squared errors of Cases with it."""

    def of(self, traits: Collection[str]) -> float:
        """Return the chance that a Case with these traits shows it; a half as long as nothing was seen."""
        evidence = sum(self._weights.get(trait, 0.0) for trait in (_BIAS, *traits))
        return 1 / (1 + math.exp(-max(-_SURE, min(_SURE, evidence))))

    def saw(self, traits: Collection[str], shown: bool) -> None:
        """Note that a Case with these traits was run."""
        error = shown - self.of(traits)
        for trait in (_BIAS, *traits):
            self._errors[trait] = self._errors.get(trait, _CAUTION) + error * error
            moved = _PACE * error / math.sqrt(self._errors[trait])
            self._weights[trait] = self._weights.get(trait, 0.0) + moved
