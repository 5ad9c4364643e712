"""The verdicts on a ledger: every rule over the rows that were picked, and the sums over all rows.

The rows may be all there are, or those of flagged buckets. The verdicts are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assay_conformance.catalogue import Catalogue
from assay_conformance.ledger.collection import Rows, Small, Sums
from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.ledger.lives import Evidence
from assay_conformance.ledger.rules import RULES, Breach, Rule
from assay_conformance.ledger.tables import NONE
from assay_conformance.ledger.telling import describe_life
from assay_conformance.model.requirement import Requirement, RequirementId
from assay_conformance.model.verdict import Finding, Grade, RequirementVerdict, Verdict, broken


def judge_rows(
    rows: Rows,
    small: Small,
    info: LedgerInfo,
    sums: Sums,
    catalogue: Catalogue,
    beyond: Mapping[str, int] | None = None,
) -> tuple[RequirementVerdict, ...]:
    """Return a verdict for each requirement that this ledger can be judged by, in catalogue order.

    `beyond`: requirement -> flagged buckets whose rows are not among `rows`, because there were too many. What was
    promised and never put to the test is `untestable`; what could not be decided is `inconclusive`. The findings of a
    requirement are the first by subscription, stream and number; `reason` counts the others.
    """
    evidence = Evidence(rows, small, info, sums)
    found = {rule.requirement: rule for rule in judged(evidence)}
    return tuple(
        _verdict(catalogue.requirements[requirement], found[requirement], evidence, (beyond or {}).get(requirement, 0))
        for requirement in catalogue.requirements
        if requirement in found
    )


def judged(evidence: Evidence) -> tuple[Rule, ...]:
    """Return the rules that have something to say, having seen every life."""
    return tuple(rule for rule in all_rules(evidence) if rule.count or rule.promised())


def all_rules(evidence: Evidence, kinds: Iterable[type[Rule]] = RULES) -> tuple[Rule, ...]:
    """Return every rule, having seen every life."""
    rules = [kind(evidence) for kind in kinds]
    looking = [rule.look for rule in rules if type(rule).look is not Rule.look]
    for life in evidence.lives.values():
        for look in looking:
            look(life)
    for rule in rules:
        rule.finish()
    return tuple(rules)


def _verdict(requirement: Requirement, rule: Rule, evidence: Evidence, beyond: int) -> RequirementVerdict:
    verdict, reason = _decision(requirement, rule, beyond, evidence.unread_reason)
    return RequirementVerdict(
        requirement=requirement.id,
        verdict=verdict,
        exercised=max(rule.exercised(), rule.count),
        cases=(evidence.info.run,),
        findings=tuple(_finding(requirement.id, breach, evidence) for breach in rule.breaches),
        reason=reason,
    )


def _decision(requirement: Requirement, rule: Rule, beyond: int, unread: str) -> tuple[Verdict, str]:
    not_looked = f"{beyond} flagged buckets were not looked at" if beyond else ""
    if rule.count:
        others = rule.count - len(rule.breaches)
        more = f"and {others} more" if others else ""
        return broken(requirement), "; ".join(
            part for part in (rule.breaches[0].sentence, more, not_looked, unread, rule.remark) if part
        )
    if doubt := rule.doubt or not_looked or unread:
        return Verdict.INCONCLUSIVE, doubt
    if not rule.exercised():
        return Verdict.UNTESTABLE, "its precondition never occurred"
    return rule.holds, rule.remark


def _finding(requirement: RequirementId, breach: Breach, evidence: Evidence) -> Finding:
    """Return the finding of a breach.

    It has grade B: the bench's own rows, of the results that an application got; and A with what the broker holds, too.
    """
    life = evidence.lives.get((breach.stream, breach.seq))
    return Finding(
        requirement=requirement,
        code=breach.code,
        case=evidence.info.run,
        sentence=breach.sentence,
        events=(),
        grade=Grade.A if life is not None and life.stored else Grade.B,
        life=describe_life(life, evidence) if life is not None else (),
        rows=f"stream = {breach.stream} and seq = {breach.seq}" if breach.stream != NONE else "",
    )
