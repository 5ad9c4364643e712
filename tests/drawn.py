"""A few of many, others in each run of CI; at night all of them."""

from __future__ import annotations

import os
import random
import zlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
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


def drawn_items(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """What this run has of `items`, in their order: few of those marked `few(most)`, some of those marked `one_in`."""
    return few_items([item for item in items if _is_its_turn(item)])


def _is_its_turn(item: pytest.Item) -> bool:
    """Tests of one group have their turn together, for they share a fixture that takes long."""
    mark = item.get_closest_marker("one_in")
    if NIGHTLY or mark is None:
        return True
    runs: int = mark.args[0]
    group: str = mark.kwargs.get("group", item.nodeid)
    return (zlib.crc32(group.encode()) + int(os.environ["ASSAY_FRESH"])) % runs == 0


def few_items(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of each test that is marked `few(most)` so many items, and all others."""
    marked = [(item, item.get_closest_marker("few")) for item in items]
    tests = defaultdict[tuple[Path, str], list[pytest.Item]](list)
    most: dict[tuple[Path, str], int] = {}
    for item, mark in marked:
        if mark is not None:
            test = item.path, item.name.partition("[")[0]
            tests[test].append(item)
            most[test] = mark.args[0]
    kept = {id(item) for test, known in tests.items() for item in few_of(known, most[test])}
    return [item for item, mark in marked if mark is None or id(item) in kept]
