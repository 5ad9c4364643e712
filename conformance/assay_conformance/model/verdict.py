"""What the checks said, and what it folds to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from assay_conformance.model.requirement import Disposition, Level, Requirement, RequirementId


class Verdict(StrEnum):
    """Of a requirement in one attempt, and folded over attempts and Cases."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    INFO = "info"
    UNSUPPORTED = "unsupported"
    UNAVAILABLE = "unavailable"
    UNTESTABLE = "untestable"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"
    HARNESS_ERROR = "harness-error"


WORST_FIRST: tuple[Verdict, ...] = (
    Verdict.HARNESS_ERROR,
    Verdict.FAIL,
    Verdict.INVALID,
    Verdict.UNTESTABLE,
    Verdict.INCONCLUSIVE,
    Verdict.UNAVAILABLE,
    Verdict.WARN,
    Verdict.INFO,
    Verdict.PASS,
    Verdict.UNSUPPORTED,
)
"""The order in which verdicts of one requirement fold: proof against the client outranks an unfired fault."""


VOID = frozenset({Verdict.UNTESTABLE, Verdict.INVALID})
"""Verdicts of a Case that says nothing of a requirement, since what was to happen for it did not."""

EXERCISED = frozenset({Verdict.PASS, Verdict.INFO, Verdict.WARN, Verdict.FAIL})
"""Verdicts that rest on what happened."""


BROKEN: dict[Level, Verdict] = {Level.MUST: Verdict.FAIL, Level.SHOULD: Verdict.WARN, Level.MAY: Verdict.INFO}
"""What a breach of a requirement of this level comes to, where it is tested."""


def broken(requirement: Requirement) -> Verdict:
    """Return the verdict that a finding against the requirement leads to."""
    return Verdict.INFO if requirement.disposition is Disposition.OBSERVED else BROKEN[requirement.level]


class Grade(StrEnum):
    """A: wire, broker and agent agree. B: wire, broker or bench alone. C: the client's word alone; not certified."""

    A = "A"
    B = "B"
    C = "C"


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One contradiction: the requirement it breaks, the few events that contradict each other, and the sentence.

    `code` names the kind of breach inside the requirement; expectations match on (requirement, case, code). A finding
    in a ledger has no events: `life` tells in lines what its rows say of the message and of those beside it, and `rows`
    is the condition, on every table, that brings these rows back.
    """

    requirement: RequirementId
    code: str
    case: str
    sentence: str
    events: tuple[int, ...]
    grade: Grade
    attempt: int = 1
    life: tuple[str, ...] = ()
    rows: str = ""


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one requirement came to in one attempt of a Case. `exercised` counts how often its precondition occurred;
    `examples` are the first few of those events. `not_judged`: reason -> how many occurrences were not judged.
    `kept_away_by`, of a void one: the requirement that is broken by what kept the precondition away.
    `machine_was_late`, of one that passed: a breach might have shown on a machine that was not."""

    requirement: RequirementId
    case: str
    verdict: Verdict
    attempt: int = 1
    exercised: int = 0
    examples: tuple[int, ...] = ()
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    superseded: bool = False
    not_judged: dict[str, int] = {}
    kept_away_by: str = ""
    machine_was_late: bool = False


def sum_not_judged(judgements: Iterable[Judgement]) -> dict[str, int]:
    """Return by reason how many occurrences were not judged for it, in all of them together."""
    return dict(sum((Counter(judgement.not_judged) for judgement in judgements), Counter[str]()))


class Expected(StrEnum):
    """How a folded verdict stands to the expectations file."""

    NOT_LISTED = "not-listed"
    EXPECTED_FAIL = "expected-fail"
    UNEXPECTED = "unexpected"
    STALE = "stale"
    EXPIRED = "expired"
    TOLERATED = "tolerated"


class RequirementVerdict(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A row of verdicts.json: one requirement, folded over its Cases."""

    requirement: RequirementId
    verdict: Verdict
    exercised: int
    cases: tuple[str, ...]
    expected: Expected = Expected.NOT_LISTED
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    not_judged: dict[str, int] = {}
    """Reason -> how many occurrences of its precondition too little was known of to judge them."""
    void: dict[str, int] = {}
    """Verdict and reason of Cases that say nothing of it -> how many there are."""
