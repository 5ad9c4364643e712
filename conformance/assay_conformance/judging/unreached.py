"""Why a Case may not have reached the precondition of its requirement, for the reason of a verdict: which steps failed,
and how. The cause is a step that failed, was skipped or never ended, a request that was refused, or a fault that waited
for frames that never came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from assay_conformance.judging.tolerance import ms
from assay_conformance.model.case import Case
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import Completion, Event, Frame, Opened, Outcome, Overdue, Stepped, Waited
from assay_conformance.model.fault import OnFrame

OPENINGS: Final = ("open_client", "open_producer", "open_consumer", "open_table_view")

MOST_STEPS: Final = 2
"""Steps that a reason names: the first ones are the likelier causes."""


def failed_steps(events: Iterable[Event], case: Case) -> dict[int, str]:
    """Return what failed first, by the position of its event: steps that did not reach their purpose, openings first;
    empty if all did."""
    found = sorted(failure for event in events if (failure := _failure(event, case)) is not None)
    ended = {event.op for event in events if isinstance(event, Completion)}
    steps = [(seq, text) for _, seq, op, text in found if op not in ended or not text.endswith(_NOT_ENDED)]
    return dict(steps[:MOST_STEPS])


def never_fired(events: Sequence[Event], case: Case, fault: int) -> str:
    """Return which frames this fault of the Case waited for, and how many came; empty where it waited for none."""
    trigger = case.faults[fault].trigger
    if not isinstance(trigger, OnFrame):
        return ""
    towards = "the broker" if trigger.direction is Direction.TO_BROKER else "the client"
    frames = sum(1 for event in events if isinstance(event, Frame) and _is_like(event, trigger))
    connections = sum(1 for event in events if isinstance(event, Opened))
    return f"it waited for {trigger.command} towards {towards}, of which {frames} came on {connections} connections"


def _is_like(frame: Frame, trigger: OnFrame) -> bool:
    return frame.command == trigger.command and frame.dir is trigger.direction and frame.from_sender


_NOT_ENDED: Final = "had not ended"
CALL_FAILED: Final = "had failed at"
"""For a call that the client refused: later effects are missing because of that."""

_Failure = tuple[int, int, int | None, str]
"""Rank, the lowest first; position in the history; operation; what happened."""


def _failure(event: Event, case: Case) -> _Failure | None:
    match event:
        case Completion(outcome=Outcome.FAIL | Outcome.UNKNOWN):
            how = ", ".join(part for part in (event.error or event.outcome, event.text) if part)
            text = f"its {event.verb} of operation {event.op} {CALL_FAILED} {ms(event.t_ns)}: {how}"
            return (0 if event.verb in OPENINGS else 1, event.seq, None, text)
        case Overdue():
            text = f"after {event.deadline_ms} ms its {event.verb} of operation {event.op} {_NOT_ENDED}"
            return 1, event.seq, event.op, text
        case Stepped() if event.skipped:
            return 1, event.seq, None, f"its step {event.step} was skipped: {event.skipped}"
        case Frame() if event.to_receiver and (error := event.fields.get("error")):
            text = f"{event.command} with {error} came at {ms(event.t_ns)}"
            return 2, event.seq, None, text
        case Waited() if not event.met and event.step < len(case.steps):
            step = case.steps[event.step]
            wanted = ", ".join(f"{key} {value}" for key, value in step.args.items())
            text = f"its step {event.step} waited in vain for {step.verb}{f' ({wanted})' if wanted else ''}"
            return 3, event.seq, None, text
    return None
