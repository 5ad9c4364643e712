"""One attempt of one Case: route its events through the checks, and say what each requirement came to.

Every check whose capabilities the client declares sees every history: the Case's own requirements must be exercised by
it, the others may be. A requirement of the Case that was not exercised is `invalid` when a fault stayed unfired,
a finding when a client operation never ended (liveness), `untestable` otherwise.

A machine that stood still ran another schedule than the Case's: what that brought about is a finding as ever, but what
it did not bring about (a precondition, a fault, the end of an operation, a breach that needed its pauses) is
`inconclusive`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from assay_conformance.catalogue import Catalogue
from assay_conformance.checks.base import Check, Handler, View, routes
from assay_conformance.checks.tolerance import MS, TOLERANCES, LoadRecord, Tolerance
from assay_conformance.checks.tracker import Tracker
from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import AgentEnded, Ended, Ending, Event, Fired, Frame, Garbled, Overdue
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.fault import AtTime
from assay_conformance.model.requirement import Level, Requirement
from assay_conformance.model.verdict import Finding, Grade, Judgement, Verdict

NEVER_ENDED = "operation-never-ended"
AGENT_LOST = "agent-lost"
AGENT_GARBLED = "agent-contradicts-protocol"

STOOD_STILL = "the machine stood still for too long: what happened was not the Case's schedule"

BROKEN: dict[Level, Verdict] = {Level.MUST: Verdict.FAIL, Level.SHOULD: Verdict.WARN, Level.MAY: Verdict.INFO}
"""What a breach of a requirement of this level comes to."""


def judge(
    events: Iterable[Event],
    case: Case,
    facts: ClientFacts,
    catalogue: Catalogue,
    checks: Mapping[str, type[Check]],
    attempt: int = 1,
) -> tuple[Judgement, ...]:
    """Judgements of the Case's own requirements (always) and of every other that was exercised or broken."""
    view = View(case, facts, Tracker())
    applicable = [
        check(view)
        for requirement, check in checks.items()
        if facts.capabilities.issuperset(catalogue.requirements[requirement].capabilities)
    ]
    attempt_end = run(events, view.tracker, applicable)
    found = {check.requirement: check for check in applicable}
    judgements = [
        _judgement(catalogue.requirements[requirement], found.get(requirement), case, attempt_end, attempt)
        for requirement in case.requirements
    ]
    for check in applicable:
        if check.requirement not in case.requirements and (check.exercised or check.findings or check.crashed):
            judgements.append(
                _judgement(catalogue.requirements[check.requirement], check, case, attempt_end, attempt, own=False)
            )
    return tuple(judgements)


class BenchFacts:
    """What the bench's own events say about the attempt."""

    KINDS = (Fired, Overdue, AgentEnded, Garbled, Ended)

    def __init__(self, load: LoadRecord) -> None:
        self.load = load
        self.fired: set[int] = set()
        self.overdue: list[Overdue] = []
        self.lost: AgentEnded | None = None
        self.garbled: Garbled | None = None
        self.ended: Ended | None = None

    def see(self, event: Event) -> None:
        if isinstance(event, Fired):
            self.fired.add(event.fault)
        elif isinstance(event, Overdue):
            self.overdue.append(event)
        elif isinstance(event, AgentEnded):
            self.lost = event
        elif isinstance(event, Garbled):
            self.garbled = self.garbled or event
        elif isinstance(event, Ended):
            self.ended = event

    def unfired(self, case: Case) -> list[int]:
        return [index for index, fault in enumerate(case.faults) if not fault.optional and index not in self.fired]

    @property
    def stood_still(self) -> bool:
        """The machine was kept from running for so long that the pauses of a Case lost their meaning."""
        end_ns = 0 if self.ended is None else self.ended.t_ns
        return not self.load.quiet(0, end_ns, TOLERANCES["schedule"])

    def stuck(self) -> Overdue | None:
        """The first operation that had its time, on a machine that ran, and did not end."""
        for overdue in self.overdue:
            deadline = Tolerance(overdue.deadline_ms, "the whole deadline was the client's")
            if self.load.quiet(overdue.t_ns - overdue.deadline_ms * MS, overdue.t_ns, deadline):
                return overdue
        return None


def run(events: Iterable[Event], tracker: Tracker, checks: Sequence[Check]) -> BenchFacts:
    """One pass, after the one that reads ahead: every check sees the events it has handlers for, then its `finish`."""
    events = tuple(events)
    tracker.foresight.read(events)
    attempt = BenchFacts(tracker.load)
    by_type, by_word = _table(checks, attempt)
    for event in events:
        tracker.see(event)
        kind = type(event)
        handlers = by_type.get(kind, ())
        if (named := by_word.get(kind)) is not None:
            word = event.command if kind is Frame else event.verb  # type: ignore[union-attr]
            handlers = named.get(word, handlers)
        for handler in handlers:
            try:
                handler(event)
            except Exception as error:
                _crashed(handler, error)
    for check in checks:
        try:
            check.finish()
        except Exception as error:
            _crashed(check.finish, error)
    return attempt


def _crashed(method: Callable[..., None], error: Exception) -> None:
    """A check that raises is our bug or a pack's: its requirement gets harness-error, every other is judged."""
    check: Check = method.__self__  # type: ignore[attr-defined]
    check.crashed = check.crashed or error


def _table(
    checks: Sequence[Check], attempt: BenchFacts
) -> tuple[dict[type, list[Handler]], dict[type, dict[str, list[Handler]]]]:
    """Handlers of all events of a type, and all of those with a command or verb that some handler names."""
    by_type: dict[type, list[Handler]] = {kind: [attempt.see] for kind in BenchFacts.KINDS}
    by_word: dict[type, dict[str, list[Handler]]] = {}
    for check in checks:
        for kind, word, name in routes(type(check)):
            if word is None:
                by_type.setdefault(kind, []).append(getattr(check, name))
            else:
                by_word.setdefault(kind, {}).setdefault(word, []).append(getattr(check, name))
    for kind, named in by_word.items():
        for handlers in named.values():
            handlers += by_type.get(kind, ())
    return by_type, by_word


def _judgement(
    requirement: Requirement,
    check: Check | None,
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
    )


def _verdict(
    requirement: Requirement, check: Check | None, case: Case, attempt_end: BenchFacts, own: bool
) -> tuple[Verdict, str, Sequence[Finding]]:
    if attempt_end.ended is None:
        return Verdict.HARNESS_ERROR, "the history has no end", ()
    if attempt_end.ended.how in (Ending.HARNESS, Ending.INTERRUPTED):
        return Verdict.HARNESS_ERROR, attempt_end.ended.text, ()
    if check is None:
        return Verdict.UNSUPPORTED, f"needs {', '.join(requirement.capabilities)}", ()
    if check.crashed is not None:
        return Verdict.HARNESS_ERROR, f"its check crashed: {type(check.crashed).__name__}: {check.crashed}", ()
    if check.findings:
        return BROKEN[requirement.level], check.findings[0].sentence, check.findings
    if own and (liveness := _liveness(requirement, case, attempt_end)):
        return BROKEN[requirement.level], liveness.sentence, (liveness,)
    unfired = attempt_end.unfired(case) if own else []
    unreached = bool(unfired or attempt_end.overdue or not check.exercised)
    if own and attempt_end.stood_still and (unreached or _needs_its_pauses(case)):
        return Verdict.INCONCLUSIVE, STOOD_STILL, ()
    if unfired:
        return Verdict.INVALID, f"fault {unfired[0]} of the Case never fired", ()
    if check.undecided_because:
        return Verdict.INCONCLUSIVE, check.undecided_because, ()
    if not check.exercised:
        return Verdict.UNTESTABLE, "the Case ended without its precondition", ()
    return Verdict.PASS, "", ()


def _needs_its_pauses(case: Case) -> bool:
    """Something in it happens at a time, not upon an event."""
    waits = any(step.at_ms is not None or (step.who is Who.WAIT and step.verb == "ms") for step in case.steps)
    return waits or any(isinstance(fault.trigger, AtTime) for fault in case.faults)


def _liveness(requirement: Requirement, case: Case, attempt_end: BenchFacts) -> Finding | None:
    """An agent that died or spoke nonsense, or an operation that never ended, in a Case that wanted something of it."""
    if attempt_end.lost is not None:
        lost = attempt_end.lost
        return _bench_finding(requirement, case, AGENT_LOST, lost.reason, lost.seq)
    if attempt_end.garbled is not None:
        return _bench_finding(requirement, case, AGENT_GARBLED, attempt_end.garbled.reason, attempt_end.garbled.seq)
    if (first := attempt_end.stuck()) is not None:
        sentence = f"{first.verb} (operation {first.op}) had not ended {first.deadline_ms} ms after it was asked for"
        return _bench_finding(requirement, case, NEVER_ENDED, sentence, first.seq)
    return None


def _bench_finding(requirement: Requirement, case: Case, code: str, sentence: str, seq: int) -> Finding:
    return Finding(requirement=requirement.id, code=code, case=case.id, sentence=sentence, events=(seq,), grade=Grade.B)
