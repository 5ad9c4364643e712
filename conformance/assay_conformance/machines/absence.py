"""Cases without something: without what carries a word of their shape, and without what brings a listed failure about.

What breaks in the same way without a trigger has another cause. So a Case that may have been broken by a listed one is
run again without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from assay_conformance.machines.edit import Edit
from assay_conformance.machines.signature import PARTS, Shape, shape, words_of_fault, words_of_setting, words_of_step
from assay_conformance.model.case import Case

_NEEDED_BY_ALL = frozenset({"agent send", "agent receive"})
"""Without these hardly anything breaks."""


def without(case: Case, word: str) -> Case | None:
    """Return what is left of a Case when its steps, faults and settings with this word of its shape are taken out; None
    where that takes nothing, or not all: brokers and topics are not changed."""
    left = Edit(
        steps=frozenset(place for place, step in enumerate(case.steps) if word in words_of_step(step)),
        faults=frozenset(place for place, fault in enumerate(case.faults) if word in words_of_fault(fault)),
        keys=frozenset(
            (part, key)
            for part in PARTS
            for key, value in getattr(case.config, part).items()
            if word in words_of_setting(part, key, value)
        ),
    ).of(case)
    return None if left == case or word in shape(left) else left


def untriggered(case: Case, triggers: Collection[Shape]) -> list[Case]:
    """Return Cases that lack something of each trigger, and as little else as can be: faults are taken out before
    steps, and steps before settings. None where a trigger needs nothing that can be taken out."""
    found: list[Case] = []
    for word in _plainest_first(frozenset[str]().union(*triggers)):
        left = without(case, word)
        for trigger in triggers:
            if left is not None and trigger <= shape(left):
                left = next((less for one in _plainest_first(trigger) if (less := without(left, one))), None)
        if left is not None and left not in found:
            found.append(left)
    return found


def _plainest_first(words: Shape) -> Iterator[str]:
    """Yield faults, what the broker does, what the application does, and then settings."""
    kinds = ("broker ", "agent ", "client ", "producer ", "consumer ")
    order = {kind: place for place, kind in enumerate(kinds, start=1)}
    yield from sorted(
        words - _NEEDED_BY_ALL,
        key=lambda word: (next((place for kind, place in order.items() if word.startswith(kind)), 0), word),
    )
