"""A fault touches those whose frame it acted on, or all that have a session on a connection."""

from __future__ import annotations

from assay_conformance.history.script import Script
from assay_conformance.machines.touching import acting, touching
from assay_conformance.model.case import Case
from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Cut, Direction, Drop, Fault, OnFrame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Finding, Grade

LOST = ("resend.pending-sends-resent", "lost")
SEND = OnFrame(command="SEND", direction=Direction.TO_BROKER)
OURS, OTHERS = 0, 1


def _two_producers(*, apart: bool = False) -> tuple[Script, Frame, Frame]:
    """A SEND of ours and one of another producer, on one connection or on two."""
    story = Script()
    story.producer(1, producer_id=OURS)
    story.producer(2, conn=int(apart), producer_id=OTHERS, name="other")
    return story, story.send_frame(0), story.send_frame(1, conn=int(apart), producer_id=OTHERS, name="other")


def _touched(story: Script, *about: Frame) -> frozenset[int]:
    requirement, code = LOST
    finding = Finding(
        requirement=RequirementId(requirement),
        code=code,
        case="x",
        sentence="x",
        events=tuple(frame.seq for frame in about),
        grade=Grade.A,
    )
    return touching(story.done(), [finding])[LOST]


def test_a_frame_that_is_lost_touches_whose_it_is_alone() -> None:
    story, ours, others = _two_producers()
    story.fired(0, "drop", [others.frame])
    story.fired(1, "drop", [ours.frame])
    assert _touched(story, ours) == {1}


def test_a_cut_touches_all_that_have_a_session_on_the_connection() -> None:
    story, ours, others = _two_producers()
    story.fired(0, "cut", [others.frame])
    assert _touched(story, ours) == {0}


def test_a_cut_of_a_connection_that_only_others_use_touches_nothing() -> None:
    story, ours, others = _two_producers(apart=True)
    story.fired(0, "cut", [others.frame])
    assert _touched(story, ours) == frozenset()


def test_what_met_a_consumer_may_have_touched_a_message_of_which_no_consumer_is_named() -> None:
    story, ours, _ = _two_producers()
    story.consumer(3, conn=2, consumer_id=5)
    story.fired(0, "drop", [story.flow(1, conn=2, consumer_id=5).frame])
    assert _touched(story, ours) == {0}


def test_a_finding_that_names_no_frame_may_be_about_anything() -> None:
    story, _, others = _two_producers()
    story.fired(0, "drop", [others.frame])
    assert _touched(story) == {0}


def test_a_fault_that_did_not_act_touched_nothing() -> None:
    story, ours, _ = _two_producers()
    assert _touched(story, ours) == frozenset()


def test_a_case_as_if_it_had_only_some_of_its_faults() -> None:
    faults = tuple(Fault(trigger=SEND, action=action) for action in (Cut(), Drop()))
    case = Case(id="x", title="x", requirements=(), steps=(), faults=faults)
    assert acting(case, frozenset({1})).faults == faults[1:]
