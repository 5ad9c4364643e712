"""Faults outside the frames: the link counts their triggers, and writes a receipt only when it is told of the deed."""

from __future__ import annotations

import pytest
from tests.faults.conftest import Rig

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import Fired, Healed
from assay_conformance.model.fault import AfterStep, AtTime, Direction, Fault, OnFrame, Trigger, Until
from assay_conformance.model.outside import Kill, Latency, Pause
from assay_faults.link import FrameLink

SECOND_SEND = OnFrame(command="SEND", direction=Direction.TO_BROKER, k=2)


def test_a_frame_that_triggers_it_still_passes(rig: type[Rig]) -> None:
    link = rig(Fault(trigger=SECOND_SEND, action=Kill()))
    link.send(0, 1, 2)
    assert link.at_broker == [0, 1, 2]
    assert link.outside.told == [("begin", 0, (1,), 0)]


@pytest.mark.parametrize("trigger", [AtTime(at_ms=5), AfterStep(step=0)])
def test_without_a_frame_it_begins_once_however_many_connections_there_are(rig: type[Rig], trigger: Trigger) -> None:
    link = rig(Fault(trigger=trigger, action=Kill()))
    link.opened(1)
    link.at_ms(5)
    link.step(0)
    assert link.outside.told == [("begin", 0, (), None)]


def test_there_is_no_receipt_before_the_deed(rig: type[Rig]) -> None:
    link = rig(Fault(trigger=SECOND_SEND, action=Kill()))
    link.send(0, 1)
    assert link.of(Fired) == []
    link.link.acted(0, (1,), 0, {"pid": 7})
    assert [(fired.action, fired.frames, fired.facts) for fired in link.of(Fired)] == [("kill", (1,), {"pid": 7})]


@pytest.mark.parametrize("end", ["heal", "time", "step"])
def test_it_ends_when_it_is_healed_or_its_until_comes(rig: type[Rig], end: str) -> None:
    until = {"heal": Until(), "time": Until(after_ms=10), "step": Until(step=3)}[end]
    link = rig(Fault(trigger=AtTime(at_ms=0), action=Pause(), until=until))
    link.at_ms(0)
    assert link.outside.told == [("begin", 0, (), None)]
    match end:
        case "heal":
            link.heal()
        case "time":
            link.at_ms(10)
        case _:
            link.step(3)
    assert link.outside.told[1:] == [("end", 0, (), None)]


def test_the_receipt_of_healing_is_the_injectors(rig: type[Rig]) -> None:
    link = rig(Fault(trigger=AtTime(at_ms=0), action=Pause()))
    link.at_ms(0)
    link.heal()
    assert link.of(Healed) == []
    link.link.healed(0, {"ms": 3})
    assert [healed.facts for healed in link.of(Healed)] == [{"ms": 3}]


def test_one_that_never_began_is_not_ended(rig: type[Rig]) -> None:
    link = rig(Fault(trigger=SECOND_SEND, action=Kill()))
    link.heal()
    assert link.outside.told == []


def test_a_link_that_has_only_frames_refuses_it() -> None:
    fault = Fault(trigger=AtTime(at_ms=0), action=Latency(latency_ms=5))
    with pytest.raises(UsageError, match="'latency' needs toxiproxy; here are only frames"):
        FrameLink([fault], Rig(), Recorder(lambda: 0, lambda _: None), topics={})
