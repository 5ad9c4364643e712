"""A quick comparison: the histories that show most of a few requirements, within some CPU time."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from bench.compare_judging.results import Judged, Said


class Candidate(NamedTuple):
    """A history. `signs`: what is said of these requirements in it, each with its requirement."""

    part: str
    history: str
    cpu_s: float
    signs: frozenset[tuple[str, str]]


def candidates(judged: Iterable[Judged], wanted: Callable[[str], bool]) -> Iterator[Candidate]:
    for one in judged:
        own = ((requirement, said) for requirement, said in one.said.items() if wanted(requirement))
        signs = frozenset((requirement, sign) for requirement, said in own for sign in _signs(said))
        yield Candidate(one.part, one.history, one.cpu_s, signs)


def sample(known: Iterable[Candidate], cpu_s: float) -> list[Candidate]:
    """Return as many histories as take `cpu_s` to judge, always the same.

    Each thing that is said, of each kind of client, has its turn, so that rare things are included, and so are
    histories in which nothing is said.
    """
    groups: dict[tuple[tuple[str, str], str], list[Candidate]] = defaultdict(list)
    for one in known:
        for sign in one.signs or {_NOTHING}:
            groups[sign, one.part.partition("/")[0]].append(one)
    for group in groups.values():
        group.sort(key=lambda one: zlib.crc32(f"{one.part}:{one.history}".encode()))
    taken: dict[Candidate, None] = {}
    for one in _by_turns(groups[key] for key in sorted(groups)):
        if one not in taken:
            taken[one] = None
            cpu_s -= one.cpu_s
        if cpu_s <= 0:
            break
    return list(taken)


_NOTHING = ("", "")


def _signs(said: Said) -> set[str]:
    return {code for code, _ in said.findings} or {said.verdict}


def _by_turns(groups: Iterable[list[Candidate]]) -> Iterator[Candidate]:
    for turn in zip_longest(*groups):
        yield from (one for one in turn if one is not None)
