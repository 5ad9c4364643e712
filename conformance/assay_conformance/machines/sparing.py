"""Keeping away from what is listed: of the Cases that were drawn, those go that are likely to show a listed failure
behind which a new one of its kind would not be noticed.

Others take their places, and no less is run of what is batched, chunked or reconnects: a client that loses chunks at a
reconnect is still asked for chunks, and for reconnects.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Final

from assay_conformance.machines.coverage import Coverage
from assay_conformance.machines.likelihood import Likelihood

_KEPT: Final = tuple(map(attrgetter, ("batched", "chunked", "reconnected")))
"""What a round has as much of as it would have without sparing."""

_SURE: Final = 0.02
"""By how much less likely another Case has to be: less than that is chance."""

_LESS_KEPT: Final = 0.1
"""Cases of a round by which what is kept may be less: what was learned is no more exact."""

_LESS_WORTH: Final = 0.03
"""The share by which a round may promise less: what is rare is to be found as soon."""


class Sparing:
    """Learns from every Case that was run, and exchanges some of those that may be run next."""

    def __init__(self) -> None:
        self._breaks = Likelihood()
        self._any_broke = False
        self._kept = [Likelihood() for _ in _KEPT]

    def saw(self, traits: Collection[str], covered: Coverage, *, broke: bool) -> None:
        """Note that a Case with these traits was run; `broke`: what is to be avoided showed."""
        self._any_broke |= broke
        self._breaks.saw(traits, broke)
        for likelihood, shows in zip(self._kept, _KEPT, strict=True):
            likelihood.saw(traits, shows(covered))

    def exchanged(self, traits: Sequence[Collection[str]], worth: Sequence[float], chosen: Collection[int]) -> set[int]:
        """Return as many places as were `chosen` of these Cases: those likeliest to break are left out for others,
        unless too little would be kept of what is to be kept, or of what the Cases are `worth`."""
        if not self._any_broke:
            return set(chosen)
        risks = [self._breaks.of(one) for one in traits]
        kept = [[likelihood.of(one) for one in traits] for likelihood in self._kept]
        scales = [*kept, worth]
        room = [*(_LESS_KEPT for _ in kept), _LESS_WORTH * sum(worth[place] for place in chosen)]
        others = sorted(set(range(len(traits))).difference(chosen), key=risks.__getitem__)
        staying = set(chosen)
        for leaving in sorted(chosen, key=risks.__getitem__, reverse=True):
            for place in others:
                if risks[leaving] - risks[place] < _SURE:
                    break
                after = [left + of[place] - of[leaving] for left, of in zip(room, scales, strict=True)]
                if min(after) >= 0:
                    room = after
                    others.remove(place)
                    staying ^= {leaving, place}
                    break
        return staying
