"""The fold: every judgement of a requirement, over attempts and Cases, comes to one verdict, the worst.

Superseded attempts and Cases that were not selected do not fold. A breach weighs what its level says, wherever it was
judged, and nothing passes that was never exercised. Where it was exercised in one Case, another that is void
(untestable or invalid), a permutation that is inconclusive, and a Case that did not come to it on a machine that was
late are counted beside the verdict and do not change it: a busy machine leaves one of hundreds open now and then, and
on an idle one the last would be void at worst. The order in which judgements arrive is no evidence and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from assay_conformance.checks.judge import MACHINE_WAS_LATE
from assay_conformance.model.case import words_of
from assay_conformance.model.requirement import Requirement, RequirementId
from assay_conformance.model.verdict import (
    EXERCISED,
    VOID,
    WORST_FIRST,
    Finding,
    Judgement,
    RequirementVerdict,
    Verdict,
    broken,
    sum_not_judged,
)


def fold(
    judgements: Iterable[Judgement], requirements: Mapping[str, Requirement], selected: Collection[str]
) -> tuple[RequirementVerdict, ...]:
    """Return a row for each requirement that was judged in one of the `selected` Cases, in catalogue order."""
    by_requirement: dict[RequirementId, list[Judgement]] = {}
    for judgement in judgements:
        if not judgement.superseded and judgement.case in selected:
            by_requirement.setdefault(judgement.requirement, []).append(judgement)
    return tuple(
        _row(requirement, by_requirement[requirement.id])
        for requirement in requirements.values()
        if requirement.id in by_requirement
    )


def _row(requirement: Requirement, judgements: Sequence[Judgement]) -> RequirementVerdict:
    weighed = [msgspec.structs.replace(judgement, verdict=_weight(judgement, requirement)) for judgement in judgements]
    was_exercised = any(judgement.verdict in EXERCISED for judgement in weighed)
    void = [one for one in weighed if _says_nothing(one) and (was_exercised or one.verdict in VOID)]
    counted = [judgement for judgement in weighed if not (was_exercised and _says_nothing(judgement))]
    worst = min(counted, key=lambda j: (WORST_FIRST.index(j.verdict), j.case, j.attempt, j.reason))
    return RequirementVerdict(
        requirement=requirement.id,
        verdict=worst.verdict,
        exercised=sum(judgement.exercised for judgement in judgements),
        cases=tuple(sorted({judgement.case for judgement in judgements})),
        findings=tuple(sorted((f for judgement in judgements for f in judgement.findings), key=_place)),
        reason=worst.reason,
        not_judged=sum_not_judged(judgements),
        void=dict(sorted(Counter(map(_said, void)).items())),
    )


def _says_nothing(judgement: Judgement) -> bool:
    if judgement.verdict is not Verdict.INCONCLUSIVE:
        return judgement.verdict in VOID
    return bool(words_of(judgement.case)) or _was_not_reached(judgement)


def _was_not_reached(judgement: Judgement) -> bool:
    """Return whether nothing was seen of the requirement, and only since the machine was late."""
    seen = judgement.exercised or judgement.not_judged
    return not seen and judgement.reason.startswith(MACHINE_WAS_LATE)


def _weight(judgement: Judgement, requirement: Requirement) -> Verdict:
    if judgement.verdict is Verdict.FAIL:
        return broken(requirement)
    if judgement.verdict is Verdict.PASS and not judgement.exercised:
        return Verdict.UNTESTABLE
    return judgement.verdict


def _said(judgement: Judgement) -> str:
    return f"{judgement.verdict.value}: {judgement.reason}" if judgement.reason else judgement.verdict.value


def _place(finding: Finding) -> tuple[str, int, tuple[int, ...], str, str]:
    return (finding.case, finding.attempt, finding.events, finding.code, finding.sentence)
