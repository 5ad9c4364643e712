"""The Case of a cell: a request in its phase, with one thing that happens to its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from assay_conformance.cases.build import EARLIEST
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.model.fault import AnswerError, Fault
from assay_conformance.pulsar.cases.robustness.answers.scenes import SCENES, Played, play
from assay_conformance.pulsar.outcomes.ends import HANG, REFUSED, SUCCESS, End
from assay_conformance.pulsar.outcomes.losses import actions_of
from assay_conformance.pulsar.outcomes.requests import ERRORS, Cell, Loss, Phase, cells
from assay_conformance.pulsar.outcomes.rules import end_of, rule_of
from assay_conformance.pulsar.outcomes.verbs import VERBS

PREFIX: Final = "robustness/answers-"
TIMEOUT_MS: Final = 2_000
LIMITS: Final = Limits(operation_ms=4 * TIMEOUT_MS)
"""A client may check its time-outs only periodically, and make a second request in the same call."""

_TOPICS: Final = Topology(topics=(Topic(name="t"), Topic(name="beside")))
_LASTING: Final = (End.AT_ONCE, End.FAILS, End.GIVES_UP)
"""Ends for which every attempt is refused or not answered; for others only the first attempt is."""

LATE_MS: Final = TIMEOUT_MS + TIMEOUT_MS // 2


def id_of(cell: Cell) -> str:
    """Return the id of a cell's Case."""
    return f"{PREFIX}{_word(cell.request.command)}-{cell.phase}-{_word(cell.answer)}"


def case_of(cell: Cell) -> Case:
    """Return the Case of a cell."""
    request, phase, answer = cell
    scene, rule, end = SCENES[request.command], rule_of(cell), end_of(cell)
    played = play(request, phase, plains(range(3)), times=0 if end in _LASTING else 1)
    judged_by = dict.fromkeys((HANG, *_needs_answer(cell), *([] if rule is None else [rule.judged_by])))
    return played.plan.case(
        id_of(cell),
        f"{request.command} {_WHEN[phase]}: {_WHAT.get(answer, f'it is answered {answer}')}",
        tuple(judged_by),
        capabilities=scene.capabilities,
        client={"operation_timeout_ms": TIMEOUT_MS},
        producer={"send_timeout_ms": TIMEOUT_MS} if "producer" in scene.capabilities else {},
        consumer={**EARLIEST, **({"ack_receipt": True} if scene.ack_receipt else {})},
        topology=_TOPICS,
        faults=(*played.more, *_faults(cell, played)),
        limits=LIMITS,
    )


_WHEN: Final[Mapping[Phase, str]] = {
    Phase.OPENING: "on the first connection",
    Phase.RETURN: "after a lost connection",
    Phase.SENT_AWAY: "after the broker has closed the producer or consumer",
    Phase.CLOSING: "while its sender is closed",
}
_WHAT: Final[Mapping[str, str]] = {
    Loss.NO_ANSWER: "there is no answer",
    Loss.LOST_BEFORE: "the connection is lost before the answer",
    Loss.LOST_INSIDE: "the connection is lost in the middle of the answer",
    Loss.LOST_BEHIND: "the connection is lost after the answer",
    Loss.LATE: "the answer comes after the time-out",
    Loss.TWICE: "the answer comes twice",
    Loss.OTHER_KIND: "an answer of another kind comes",
}


def _faults(cell: Cell, played: Played) -> Iterator[Fault]:
    """Yield the faults of a cell. They are optional where a closed handle, or one that reconnected, may not send the
    request."""
    optional = cell.phase is Phase.CLOSING or (cell.phase is not Phase.OPENING and cell.request.command == "LOOKUP")
    if cell.answer in ERRORS:
        yield Fault(trigger=played.asked, action=AnswerError(cell.answer), optional=optional)
    else:
        for action in actions_of(cell, LATE_MS):
            yield Fault(trigger=played.answered, action=action, optional=optional)


def _needs_answer(cell: Cell) -> Iterator[str]:
    """Yield the requirement that success needs an answer, if the answer is an error or none."""
    if end_of(cell) in (End.AT_ONCE, End.FAILS) and cell.request.command in _JUDGED:
        yield SUCCESS


_OF_RESEND: Final = frozenset({"SEND"})
"""The chapter resend says what has to happen to a send that is answered with an error."""
_JUDGED: Final = (
    frozenset(command for verb in VERBS if verb.success_by == SUCCESS for command in verb.requests) - _OF_RESEND
)


def _word(name: str) -> str:
    """Return a name as words of a Case's id."""
    if name.isupper():
        return name.lower().replace("_", "-")
    return "".join(f"-{one.lower()}" if one.isupper() else one for one in name).lstrip("-")


_SLOW: Final = (Loss.NO_ANSWER, Loss.LATE)
"""Answers for which a call waits until its time-out, as in the Cases of `unanswered`."""


@cache
def covering() -> tuple[Cell, ...]:
    """Return few cells with a rule in which each request meets each phase and each end, and each answer is met.

    An end that a clause of another chapter decides has Cases there.
    """
    offered = {cell: _aspects(cell) for cell in cells() if _is_ours(cell) and cell.answer not in _SLOW}
    missing = frozenset[tuple[str, ...]]().union(*offered.values())
    found: list[Cell] = []
    while missing:
        best = max(offered, key=lambda cell: len(offered[cell] & missing))
        found.append(best)
        missing -= offered[best]
    return tuple(found)


def _is_ours(cell: Cell) -> bool:
    rule = rule_of(cell)
    return rule is not None and rule.judged_by in (HANG, SUCCESS, REFUSED)


def _aspects(cell: Cell) -> frozenset[tuple[str, ...]]:
    command = cell.request.command
    return frozenset({(command, cell.phase), (command, end_of(cell)), (cell.answer,)})


def others() -> tuple[Case, ...]:
    """Return the Cases of all cells but those of the covering set."""
    few = set(covering())
    return tuple(case_of(cell) for cell in cells() if cell not in few)
