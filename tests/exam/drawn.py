"""A few of many, others in each run of CI; at night all of them."""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Sequence
from typing import TypeVar

from tests.profiles import NIGHTLY

from assay_conformance.model.case import Case

T = TypeVar("T")


def few_of(known: Collection[T], most: int) -> Sequence[T]:
    """Those of this run (`ASSAY_FRESH`), in the order in which they are known."""
    if NIGHTLY or len(known) <= most:
        return (*known,)
    chosen = random.Random(int(os.environ["ASSAY_FRESH"])).sample(range(len(known)), most)
    return [one for place, one in enumerate(known) if place in frozenset(chosen)]


def few_cases(known: Collection[Case], most: int, also: Collection[str] = ()) -> Sequence[Case]:
    """Cases of this run; those whose ids are `also` named are always among them."""
    needed = [case for case in known if case.id in also]
    others = few_of([case for case in known if case.id not in also], max(0, most - len(needed)))
    return [*needed, *others]
