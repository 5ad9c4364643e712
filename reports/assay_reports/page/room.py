"""What the page has room for: bounds that keep it readable, and below 10 MB whatever the number of Cases.

Ordinary runs stay within all of them. Beyond, the page shows what a person looks at first, says how much is left out,
and names the file of the run folder that holds it: nothing is lost, for the page is made from those files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Generic, TypeVar

from markupsafe import Markup

from assay_reports.report import Failure

STORIES_BYTES: Final = 4_000_000
"""All timelines together: 150 of forty events."""
STORY_BYTES: Final = 400_000
"""One of them."""
MOST_BRIEF: Final = 1_000
"""Failures that have no timeline on the page and get a line each."""
MOST_NAMES: Final = 30_000
"""Cases named under requirements, shared out equally."""
FEWEST_NAMES: Final = 10
MOST_LISTED: Final = 50
"""Cases under one requirement that have something to tell."""
MOST_CASES: Final = 4_000
"""Rows of the table of Cases."""
MOST_REASONS: Final = 200
MOST_LEFT_OUT: Final = 30
"""Cases that are named of those which were left out for one reason."""
MOST_WORDS: Final = 600
"""Characters of a sentence in a list."""

_PERMUTED: Final = "@"
"""Between the id of a Case and its circumstances."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """What is shown of a list, and how many are not."""

    shown: Sequence[T]
    more: int = 0


def part(items: Sequence[T], most: int) -> Part[T]:
    return Part(items[:most], max(len(items) - most, 0))


def brief(sentence: str) -> str:
    """Return a sentence as a list has room for it."""
    return sentence if len(sentence) <= MOST_WORDS else f"{sentence[:MOST_WORDS]}…"


@dataclass(frozen=True, slots=True)
class FailureArticle:
    """A failure with its timeline."""

    failure: Failure
    article: Markup


@dataclass(frozen=True, slots=True)
class Section:
    """Failures of one section: those with a timeline, in order, and the others, a line each."""

    articles: tuple[FailureArticle, ...]
    brief: Part[Failure]


def sections(
    failures: Sequence[Failure], article: Callable[[Failure], Markup], foremost: Iterable[Failure] = ()
) -> tuple[Section, Section]:
    """Return the section of unexpected failures and that of expected ones.

    While there is room a failure gets its timeline: the foremost, then one failure of each requirement and code, then
    the others; in both, unexpected ones first.
    """
    left = STORIES_BYTES
    articles: dict[int, Markup] = {}
    for number in _by_need(failures, frozenset(map(id, foremost))):
        if left <= 0:
            break
        text = article(failures[number])
        if len(text) <= min(left, STORY_BYTES):
            articles[number] = text
            left -= len(text)
    unexpected = _section(failures, articles, expected=False)
    return unexpected, _section(failures, articles, expected=True)


def _by_need(failures: Sequence[Failure], foremost: Set[int]) -> list[int]:
    """Their numbers, those that need a timeline most first."""
    known: set[tuple[str, str, str]] = set()
    needs = []
    for number, failure in enumerate(failures):
        cause = (failure.requirement.id, failure.finding.code if failure.finding else "", failure.cell.verdict)
        needs.append((id(failure) not in foremost, cause in known, failure.expected, number))
        known.add(cause)
    return [number for *_, number in sorted(needs)]


def _section(failures: Sequence[Failure], articles: dict[int, Markup], *, expected: bool) -> Section:
    mine = [(number, failure) for number, failure in enumerate(failures) if failure.expected is expected]
    shown = tuple(FailureArticle(failure, articles[number]) for number, failure in mine if number in articles)
    return Section(shown, part([failure for number, failure in mine if number not in articles], MOST_BRIEF))


@dataclass(frozen=True, slots=True)
class Family:
    """A Case and its permutations, which differ in what does not matter to it. `plain`: whether the Case itself is
    among them."""

    id: str
    plain: bool
    permutations: int


def base_of(case: str) -> str:
    return case.partition(_PERMUTED)[0]


def families(cases: Iterable[str]) -> list[Family]:
    """Return Cases grouped with their permutations, by id."""
    found = []
    for id, members in groupby(sorted(cases, key=lambda case: (base_of(case), case)), key=base_of):
        mine = list(members)
        plain = id in mine
        found.append(Family(id, plain, len(mine) - plain))
    return found


def names_each(requirements: int) -> int:
    """Return how many Cases each of so many requirements may name."""
    return max(MOST_NAMES // max(requirements, 1), FEWEST_NAMES)


def by_reason(left_out: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Part[str]]]:
    """Yield (reason, the Cases that were left out for it) of pairs of Case and reason, in order of first appearance."""
    grouped: dict[str, list[str]] = {}
    for case, reason in left_out:
        grouped.setdefault(reason, []).append(case)
    for reason, cases in grouped.items():
        yield reason, part(cases, MOST_LEFT_OUT)
