"""A reason names what failed before a precondition could come, whatever it was."""

from __future__ import annotations

import re

import msgspec
import pytest

from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.judging.unreached import failed_steps, never_fired
from assay_conformance.model.case import Case, Step, Who
from assay_conformance.model.event import ErrorClass, Outcome, Stepped, Waited
from assay_conformance.model.fault import AtTime, Cut, Direction, Drop, Fault, OnFrame

WAIT = Step(who=Who.WAIT, verb="received", args={"consumer": 2, "count": 3})
CASE = Case(id="test/case", title="t", requirements=(), steps=(WAIT,))


def _failed(story: Script) -> str:
    """The steps that failed, without their times."""
    return re.sub(r" at [0-9.]+ ms", "", "; ".join(failed_steps(story.done(), CASE).values()))


def test_a_call_that_failed_is_named_with_the_agents_text() -> None:
    story = Script()
    seek = story.invoke("seek", 2)
    story.complete(seek, outcome=Outcome.FAIL, error=ErrorClass.OTHER, text="cannot seek now")
    assert _failed(story) == "its seek of operation 0 had failed: other, cannot seek now"


def test_an_opening_that_failed_comes_before_what_failed_for_it() -> None:
    story = Script()
    send, opening = story.invoke("send", PRODUCER), story.invoke("open_consumer", 3)
    story.complete(send, outcome=Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
    story.complete(opening, outcome=Outcome.FAIL, error=ErrorClass.AUTH, text="no token")
    assert _failed(story).split("; ") == [
        "its open_consumer of operation 1 had failed: auth, no token",
        "its send of operation 0 had failed: timeout",
    ]


def test_a_call_that_never_ended_is_named_and_one_that_ended_late_is_not() -> None:
    story = Script()
    late, hung = story.invoke("flush", PRODUCER), story.invoke("close", PRODUCER)
    story.after(5_000).overdue(late, deadline_ms=5_000)
    story.overdue(hung, deadline_ms=5_000)
    story.complete(late)
    assert _failed(story) == "after 5000 ms its close of operation 1 had not ended"


def test_a_step_that_was_skipped_is_named_with_the_reason() -> None:
    story = Script()
    story.add(Stepped, step=4, skipped="the client is down")
    assert _failed(story) == "its step 4 was skipped: the client is down"


def test_a_request_that_was_refused_is_named() -> None:
    story = Script()
    story.down("ERROR", fields={"error": "ServiceNotReady"})
    assert _failed(story) == "ERROR with ServiceNotReady came"


def test_a_wait_in_vain_is_named_with_what_it_waited_for() -> None:
    story = Script()
    story.add(Waited, step=0, met=False)
    assert _failed(story) == "its step 0 waited in vain for received (consumer 2, count 3)"


def test_nothing_is_said_where_all_steps_came_to_what_they_were_for() -> None:
    story = Script()
    story.complete(story.invoke("flush", PRODUCER))
    story.add(Waited, step=0, met=True)
    assert _failed(story) == ""


@pytest.mark.parametrize("seeks", [0, 2])
def test_of_a_fault_that_never_fired_the_frames_are_counted(seeks: int) -> None:
    story = Script()
    for _ in range(seeks):
        story.up("SEEK")
    story.down("SEEK")
    third = Fault(trigger=OnFrame(command="SEEK", direction=Direction.TO_BROKER, k=3), action=Drop())
    case = msgspec.structs.replace(CASE, faults=(third,))
    connections = len([event for event in story.done() if type(event).__name__ == "Opened"])
    assert never_fired(story.done(), case, 0) == (
        f"it waited for SEEK towards the broker, of which {seeks} came on {connections} connections"
    )


def test_a_fault_that_waits_for_a_time_waits_for_no_frames() -> None:
    case = msgspec.structs.replace(CASE, faults=(Fault(trigger=AtTime(5), action=Cut()),))
    assert never_fired([], case, 0) == ""
