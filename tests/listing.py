"""Lists of known failures for tests: each failure is a deviation of its own."""

from __future__ import annotations

from collections.abc import Iterable

from assay_reports.deviations import Deviation, Seen
from assay_reports.expectations import Expectation, Expectations


def listing(
    entries: Iterable[Expectation], *, agent: str = "", broker: str = "", where: str = "expectations.toml"
) -> Expectations:
    """A list of these failures, in their order."""
    deviations = tuple(_deviation(entry, number) for number, entry in enumerate(entries, start=1))
    return Expectations(agent=agent, broker=broker, tested="*", deviations=deviations, where=where)


def _deviation(entry: Expectation, number: int) -> Deviation:
    return Deviation(
        id=entry.deviation or f"cause-{number}",
        title=entry.reason,
        versions=entry.versions,
        reason=entry.reason,
        impact=entry.impact,
        excerpt=entry.excerpt,
        link=entry.link,
        expires=entry.expires,
        stands_still=entry.stands_still,
        security="security@example.org" if entry.security else "",
        seen=(
            Seen(
                requirement=entry.requirement,
                code=entry.code,
                cases=(entry.case,),
                occurs=entry.occurs,
                replay=entry.replay,
                trigger=entry.trigger,
                leads_to=entry.leads_to,
            ),
        ),
    )
