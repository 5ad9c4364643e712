"""docs/past-bugs.md: which bugs of released versions a certification notices, from what is kept of their runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from bench.judged_by import sentence
from bench.past_bugs.evidence import Evidence
from bench.past_bugs.judging import Detection, Result, judged
from bench.past_bugs.pairs import NOT_RUN, PAIRS, Pair

from assay_conformance.model.verdict import Verdict

PAGE: Final = Path(__file__).parents[2] / "docs" / "past-bugs.md"

_HEAD = """\
# Past bugs

Bugs that released versions of the Python client had, and the first versions without them. Each version is certified
like any other (`assay certify pulsar-python@VERSION`): no Case was written for a version, and the expectations of newer
ones play no part. *detected*: the affected version breaks a requirement in a Case in which the fixed one keeps it;
*noisy*: both break it alike; *missed*: the affected one breaks none of the requirements that the bug is about. The bugs
below were shown by a script on the wire before they were looked for here.

There are two ways to count. By the first, the fixed version keeps the same requirement in **all Cases** of its run,
those that are about something else included: that is what is claimed here. By the second, it keeps it in the **Case**
that showed the bug, and may break it elsewhere, by another deviation, which is named. Where the affected version never
came to what a requirement is about (*untestable*: its process died, or its call never ended), the requirement counts as
broken, as it does in a certificate; the table says of each bug how it was broken, and the counts which rest on that
alone.

`python -m bench.past_bugs` certifies what has not been certified yet and writes this page; what is kept of the runs is
in [fixtures/golden/past_bugs](../fixtures/golden/past_bugs).
"""

_OTHERS = """\
No script is known that shows these; some want a race, or an option that the suite does not set. What is noticed is
noticed, and a miss may be the guess's.
"""

SHOWN: Final = 3
"""Cases that are named; the others are counted."""


def results(found: Mapping[str, Evidence]) -> dict[str, Result]:
    """Return the results of the pairs of which both versions have been certified."""
    return {
        row: judged(pair, found[pair.affected], found[pair.fixed])
        for row, pair in PAIRS.items()
        if pair.affected in found and pair.fixed in found
    }


def page(found: Mapping[str, Evidence]) -> str:
    told = results(found)
    known = {row: result for row, result in told.items() if PAIRS[row].reproduced}
    others = {row: result for row, result in told.items() if row not in known}
    parts = [_HEAD, f"{_counted(known)}:", "", *counts(known), "", *table(known)]
    parts += [
        "",
        "## Known by their fixes alone",
        "",
        _OTHERS,
        f"{_counted(others)}:",
        "",
        *counts(others),
        "",
        *table(others),
    ]
    parts += ["", sentence({version: one.catalogues for version, one in found.items()})]
    return "\n".join((*parts, "", "## Not tried", "", *_not_run())) + "\n"


def _counted(told: Mapping[str, Result]) -> str:
    counts = Counter(result.detection for result in told.values())
    said = ", ".join(f"{counts[word]} {word}" for word in Detection if counts[word])
    return f"{said}, of {len(told)}"


def counts(told: Mapping[str, Result]) -> Iterator[str]:
    """Yield both counts, and which bugs only the second has.

    It also names bugs that rest on what the affected version never reached.
    """
    everywhere = [row for row, result in told.items() if result.everywhere]
    there = [row for row, result in told.items() if result.detection is Detection.DETECTED and not result.everywhere]
    silent = [row for row in everywhere if told[row].rests_on == {Verdict.UNTESTABLE}]
    beside = f"; without {', '.join(there)}" if there else ""
    found = len(everywhere) - len(silent)
    resting = f", {found} of them by a finding, {', '.join(silent)} by what was untestable" if silent else ""
    yield f"- the same requirement in all Cases: **{len(everywhere)} of {len(told)}**{resting}{beside}"
    yield f"- the same requirement in the Case that showed it: {len(everywhere) + len(there)} of {len(told)}"


def table(told: Mapping[str, Result]) -> Iterator[str]:
    """Yield a row for each bug."""
    yield "| bug | affected | fixed | | broken how | kept by the fixed version | noticed by |"
    yield "|---|---|---|---|---|---|---|"
    for row, result in told.items():
        pair = PAIRS[row]
        yield (
            f"| [{row}]({pair.issue}): {pair.bug} | {pair.affected} | {pair.fixed} | {result.detection} "
            f"| {_how(result)} | {_kept(result)} | {_noticed(pair, result)} |"
        )


def _not_run() -> Iterator[str]:
    yield "| bug | why |"
    yield "|---|---|"
    for row, (issue, why) in NOT_RUN.items():
        yield f"| [{row}]({issue}) | {why} |"


def _how(result: Result) -> str:
    """Return the verdicts of the affected version on the clauses that count."""
    return ", ".join(sorted(result.rests_on or {sign.verdict for sign in result.signs}))


def _kept(result: Result) -> str:
    if result.detection is not Detection.DETECTED:
        return ""
    return "in all Cases" if result.everywhere else "in the Case that shows it"


def _noticed(pair: Pair, result: Result) -> str:
    by: dict[str, list[str]] = {}
    codes: dict[str, set[str]] = {}
    for sign in result.signs:
        by.setdefault(sign.requirement, []).append(sign.case)
        codes.setdefault(sign.requirement, set()).update(sign.codes)
    if not by:
        named = ", ".join(f"`{requirement}`" for requirement in pair.requirements)
        return f"nothing; it is about {named}" if named else "nothing; no clause is about it"
    told = (f"`{one}` ({', '.join(sorted(codes[one]))}) in {_cases(cases)}" for one, cases in by.items())
    return "; ".join(words + _elsewhere(pair, result, one) for words, one in zip(told, by, strict=True))


def _cases(cases: list[str]) -> str:
    named = ", ".join(f"`{case}`" for case in cases[:SHOWN])
    return f"{named} and {len(cases) - SHOWN} more" if len(cases) > SHOWN else named


def _elsewhere(pair: Pair, result: Result, requirement: str) -> str:
    if result.detection is not Detection.DETECTED or requirement in result.clean:
        return ""
    return (
        f", where the fixed version keeps it; elsewhere it breaks it by another deviation: {pair.remains[requirement]}"
    )
