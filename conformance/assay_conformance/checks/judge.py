"""One attempt of one Case: route its events through the checks, and say what each requirement came to.

Every check whose capabilities the client declares sees every history: the Case's own requirements must be exercised by
it, the others may be. A requirement of the Case that was not exercised is `unsupported` where the Case sets what the
client does not let be set, or calls together what it lets go on alone, `invalid` when a fault stayed unfired, and
`untestable` otherwise; the reason names the steps that failed. An operation that never ended, or an agent that was
lost, is a finding of one requirement, `liveness`; any other of the Case is `untestable` where it, or a fault, was not
reached because of that.

What leaves a requirement without its precondition may be the breach of another one: one that a step of the Case failed
with, or one that the requirement presupposes. The verdict is put down to that one, and does not count by itself.

A machine that was late ran another schedule than the Case's: what that brought about is a finding as ever, but what it
did not bring about (a precondition, a fault, the end of an operation, a breach that needed its pauses) is
`inconclusive`, with the figure. A client that a fault has paused was late for that reason: of requirements that are not
the Case's own, what cannot be decided then is not mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from assay_conformance.catalogue import Catalogue
from assay_conformance.checks.base import Check, Said
from assay_conformance.checks.bench_facts import BenchFacts
from assay_conformance.checks.part import judge_part
from assay_conformance.judging.unreached import CALL_FAILED
from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import Ending, Event
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.fault import AtTime
from assay_conformance.model.requirement import Requirement, RequirementId
from assay_conformance.model.verdict import VOID, Finding, Judgement, Verdict, broken
from assay_conformance.pulsar.checks.compression.interoperable_format import UNREAD_FORMAT
from assay_conformance.pulsar.checks.robustness.calls_do_not_hang import calls_do_not_hang
from assay_conformance.pulsar.checks.subscription.asks_for_its_position import BEGINS_ELSEWHERE

MACHINE_WAS_LATE = "the machine kept bench, agent or brokers from running for"
"""How the reason begins of what was not decided for that; the figure follows."""

_NOT_PLAYED: Final[dict[Ending, Verdict]] = {
    Ending.HARNESS: Verdict.HARNESS_ERROR,
    Ending.INTERRUPTED: Verdict.HARNESS_ERROR,
    Ending.PEER: Verdict.INVALID,
    Ending.UNAVAILABLE: Verdict.UNAVAILABLE,
}
"""How an attempt ends of which nothing is said but why it ended so."""


def judge(
    events: Iterable[Event],
    case: Case,
    facts: ClientFacts,
    catalogue: Catalogue,
    checks: Mapping[str, type[Check]],
    attempt: int = 1,
) -> tuple[Judgement, ...]:
    """Return judgements of the Case's own requirements (always) and of every other that was exercised or broken."""
    return judge_parts([events], case, facts, catalogue, checks, attempt)


def judge_parts(
    parts: Iterable[Iterable[Event]],
    case: Case,
    facts: ClientFacts,
    catalogue: Catalogue,
    checks: Mapping[str, type[Check]],
    attempt: int = 1,
) -> tuple[Judgement, ...]:
    """Judge a history in parts that share no client, connection or topic.

    Each part also has what concerns all of them. At most one part is held at a time.
    """
    applicable = [
        check for requirement, check in checks.items() if not facts.missing_for(catalogue.requirements[requirement])
    ]
    silent = Said()
    found = dict.fromkeys((check.requirement for check in applicable), silent)
    unread = ""
    for events in parts:
        results, attempt_end = judge_part(events, case, facts, applicable)
        attempt_end.unread = unread = unread or attempt_end.unread
        for requirement, said in results.items():
            if found[requirement] is silent:
                found[requirement] = Said()
            found[requirement].add(said)
    attempt_end.not_asked_for = _not_asked_for(facts, case)
    if (liveness := found.get(calls_do_not_hang.requirement)) is not None and liveness.findings:
        attempt_end.cut_short = liveness.findings[0].sentence
    attempt_end.broken = frozenset(requirement for requirement, said in found.items() if said.findings)
    attempt_end.kept_away_by = _kept_away_by(attempt_end, found, catalogue)
    judgements = [
        _judgement(catalogue.requirements[requirement], found.get(requirement), case, attempt_end, attempt)
        for requirement in case.requirements
    ]
    paused = attempt_end.paused_client(case)
    for requirement, said in found.items():
        if unread:
            break
        if paused and said.undecided_because and not (said.findings or said.crashed):
            continue
        if requirement not in case.requirements and (said.exercised or said.findings or said.crashed):
            judgements.append(
                _judgement(catalogue.requirements[requirement], said, case, attempt_end, attempt, own=False)
            )
    return tuple(judgements)


def _judgement(
    requirement: Requirement,
    check: Said | None,
    case: Case,
    attempt_end: BenchFacts,
    attempt: int,
    own: bool = True,
) -> Judgement:
    verdict, reason, findings = _verdict(requirement, check, case, attempt_end, own)
    return Judgement(
        requirement=requirement.id,
        case=case.id,
        verdict=verdict,
        attempt=attempt,
        # A breach is an occurrence of the precondition, too.
        exercised=max(check.exercised, len(check.findings)) if check else 0,
        examples=tuple(check.examples) if check else (),
        reason=reason,
        findings=tuple(msgspec.structs.replace(finding, attempt=attempt) for finding in findings),
        not_judged=dict(check.not_judged) if check else {},
        kept_away_by=attempt_end.keeps_away(requirement) or "" if verdict in VOID else "",
        machine_was_late=verdict is Verdict.PASS and attempt_end.held_up is not None,
    )


def _verdict(
    requirement: Requirement, check: Said | None, case: Case, attempt_end: BenchFacts, own: bool
) -> tuple[Verdict, str, Sequence[Finding]]:
    if attempt_end.ended is None:
        return Verdict.HARNESS_ERROR, "the history has no end", ()
    if attempt_end.ended.how in _NOT_PLAYED:
        return _NOT_PLAYED[attempt_end.ended.how], attempt_end.ended.text, ()
    if check is None:
        return Verdict.UNSUPPORTED, f"needs {', '.join((*requirement.capabilities, *requirement.assumes))}", ()
    if attempt_end.unread:
        return Verdict.INCONCLUSIVE, attempt_end.unread, ()
    if check.crashed is not None:
        return Verdict.HARNESS_ERROR, f"its check crashed: {type(check.crashed).__name__}: {check.crashed}", ()
    if check.findings:
        return broken(requirement), check.findings[0].sentence, check.findings
    if own and attempt_end.broken_off:
        return Verdict.INCONCLUSIVE, attempt_end.ended.text, ()
    unfired = attempt_end.unfired(case) if own else []
    unreached = bool(unfired or attempt_end.overdue_for_the_machine or not check.exercised)
    # What a hang, the agent's end or another breach kept away was not kept away by the machine: it had left them time
    # enough. Nor was what the client cannot be asked for.
    explained = attempt_end.cut_short or attempt_end.keeps_away(requirement) or attempt_end.not_asked_for
    if own and (late := _late(case, attempt_end, unreached and not explained)):
        return Verdict.INCONCLUSIVE, late, ()
    if own and attempt_end.not_asked_for and (unfired or not check.exercised) and not check.undecided_because:
        return Verdict.UNSUPPORTED, attempt_end.not_asked_for, ()
    if own and attempt_end.cut_short and (unfired or not check.exercised) and not check.undecided_because:
        return Verdict.UNTESTABLE, f"the Case was cut short: {attempt_end.cut_short}", ()
    if unfired and not attempt_end.cut_short:
        never = f"fault {unfired[0]} of the Case never fired"
        return Verdict.INVALID, _because(never, attempt_end.waited_for, *_causes(attempt_end, requirement)), ()
    if check.undecided_because:
        return Verdict.INCONCLUSIVE, check.undecided_because, ()
    if not check.exercised and check.not_judged:
        (why, _), *_ = check.not_judged.most_common(1)
        return Verdict.INCONCLUSIVE, f"{check.not_judged.total()} times it could not be judged: {why}", ()
    if not check.exercised:
        without = "the Case ended without its precondition"
        return Verdict.UNTESTABLE, _because(without, *_causes(attempt_end, requirement)), ()
    return Verdict.PASS, "", ()


def _not_asked_for(facts: ClientFacts, case: Case) -> str:
    """Return what the Case asks for and the client does not do; empty where it does all."""
    if keys := facts.unsettable(case):
        return f"the agent declares no {', '.join(keys)}, which the Case sets"
    if apart := facts.kept_apart(case):
        return f"the agent declares that its client lacks {', '.join(apart)}, which the Case calls"
    return ""


def _kept_away_by(
    attempt_end: BenchFacts, found: Mapping[RequirementId, Said], catalogue: Catalogue
) -> RequirementId | None:
    """Return the requirement of clients whose breach kept the precondition away.

    It was broken by the first step that failed, by a call that never ended, by messages in a format that others cannot
    read, or, where no call was refused, by a subscription that began elsewhere than the application chose.
    """
    first, how = next(iter(attempt_end.failed_steps.items()), (None, ""))
    keeps_away = {UNREAD_FORMAT} if CALL_FAILED in how else {UNREAD_FORMAT, BEGINS_ELSEWHERE}
    for requirement, said in found.items():
        is_cause = requirement == calls_do_not_hang.requirement or any(
            first in one.events or one.code in keeps_away for one in said.findings
        )
        if said.findings and is_cause and requirement not in catalogue.of_brokers:
            return requirement
    return None


def _causes(attempt_end: BenchFacts, requirement: Requirement) -> Iterator[str]:
    yield from attempt_end.failed_steps.values()
    if broken := attempt_end.keeps_away(requirement):
        yield f"that breaks {broken}, where it is reported"


def _because(what: str, *causes: str) -> str:
    return "; ".join((what, *filter(None, causes)))


def _late(case: Case, attempt_end: BenchFacts, unreached: bool) -> str:
    """Return what a late machine is responsible for; empty where it was not late, or that does not matter here."""
    if unreached and (held_up := attempt_end.held_up) is not None:
        return f"{MACHINE_WAS_LATE} {held_up}: what did not come about may only be late"
    if not unreached and _needs_its_pauses(case) and attempt_end.off_schedule:
        return f"{MACHINE_WAS_LATE} {attempt_end.whole}: what happened was not the Case's schedule"
    return ""


def _needs_its_pauses(case: Case) -> bool:
    """Return whether something in the Case happens at a time, not upon an event."""
    waits = any(step.at_ms is not None or (step.who is Who.WAIT and step.verb == "ms") for step in case.steps)
    return waits or any(isinstance(fault.trigger, AtTime) for fault in case.faults)
