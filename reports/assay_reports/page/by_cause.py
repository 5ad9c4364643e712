"""What needs a look, by cause, where much failed, as in the first run of a client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay_reports.causes import Cause
from assay_reports.page.room import MOST_LISTED, FailureArticle, Part, Section, part
from assay_reports.report import Failure

MOST_ALSO: Final = 12
"""Further kinds of failures that are named of a cause."""


@dataclass(frozen=True, slots=True)
class Block:
    """One cause. `also`: what else shows in its Cases, as requirement and code; `failures`: its failures with a
    timeline, that of the Case with the fewest circumstances first, and the others."""

    first: Failure
    also: Part[str]
    cases: Part[str]
    failures: Section


def blocks(causes: Sequence[Cause], section: Section) -> Iterator[Block]:
    """Yield a block for each cause, with what the page has room for of its failures."""
    articles = {id(one.failure): one for one in section.articles}
    for cause in causes:
        first, (_, *others) = cause.first, cause.kinds
        in_order = [first, *(one for one in cause.failures if one is not first)]
        yield Block(
            first,
            part([f"{one.requirement}: {one.code}" if one.requirement else one.code for one in others], MOST_ALSO),
            part(sorted(cause.cases, key=lambda case: (len(case), case)), MOST_LISTED),
            _section(in_order, articles),
        )


def _section(failures: Sequence[Failure], articles: dict[int, FailureArticle]) -> Section:
    shown = tuple(articles[id(one)] for one in failures if id(one) in articles)
    return Section(shown, part([one for one in failures if id(one) not in articles], MOST_LISTED))
