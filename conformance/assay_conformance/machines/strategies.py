"""Rule-based machines that write lives: their rules append a scene, or a harm, and the teardown delivers the Case.

What a machine's rules append is drawn from what the lists of its area are drawn from, and goes through the same model
(`mixed`). `assay explore` plays lists: a rule chooses by what its machine has seen, and here no client runs while a
Case is drawn, so that a machine sees nothing; and one of its Cases takes ten times as long to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from assay_conformance.machines.areas import MOST_SCENES, Share
from assay_conformance.machines.drawn_faults import MOST_HARMS, DrawnFault
from assay_conformance.machines.operations import Act
from assay_conformance.machines.parameters import Parameters
from assay_conformance.model.case import Case

Life = type[RuleBasedStateMachine]

STEPS_OF_A_LIFE = MOST_SCENES + MOST_HARMS - 1
"""A first scene and a first harm are one step."""


def machine(share: Share, hand_over: Callable[[Case], None], able: Collection[str] | None = None) -> Life:
    """Return a machine that hands every finished life to `hand_over`."""

    class AreaLife(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.terms = Parameters()
            self.scenes: list[tuple[Act, ...]] = []
            self.harms: list[tuple[DrawnFault, ...]] = []

        @initialize(terms=share.terms, first=share.first, harm=share.harms)
        def begins(self, terms: Parameters, first: tuple[Act, ...], harm: tuple[DrawnFault, ...]) -> None:
            self.terms, self.scenes, self.harms = terms, [first], [harm]

        @rule(scene=share.scenes)
        def happens(self, scene: tuple[Act, ...]) -> None:
            self.scenes.append(scene)

        @rule(harm=share.harms)
        def goes_wrong(self, harm: tuple[DrawnFault, ...]) -> None:
            self.harms.append(harm)

        def teardown(self) -> None:
            hand_over(share.life(self.scenes, self.harms, self.terms, able))

    return AreaLife
