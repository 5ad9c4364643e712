"""What occurs in a history, and that a check is shown none without what it needs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check, on
from assay_conformance.checks.occasions import Occasion, Setting, Trait, occasions
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import Ended, Fate, Fired, Frame, Invoke
from assay_conformance.model.requirement import RequirementId


class Sees(Check):
    """Is exercised by every SEND."""

    requirement = RequirementId("ordering.keeps-send-order")

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        self.exercise(event)


class NeedsSeek(Sees):
    needs = ((Frame, "SEEK"),)


class NeedsSend(Sees):
    needs = ((Frame, "SEND"), Ended)


class Unconcerned(Sees):
    def concerned(self) -> bool:
        return False


def _story(**frame: Any) -> Script:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0, **frame)
    return story


def _met(story: Script, **producer: object) -> frozenset[Occasion]:
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset(producer))
    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(producer=producer))  # type: ignore[arg-type]
    return occasions(story.done(), case, facts)


@pytest.mark.parametrize(("check", "times"), [(Sees, 1), (NeedsSend, 1), (NeedsSeek, 0), (Unconcerned, 0)])
def test_a_check_is_shown_what_has_all_it_needs(check: type[Check], times: int) -> None:
    assert trial(check, _story().done()).exercised == times


def test_events_occur_by_type_command_and_verb() -> None:
    met = _met(_story())
    assert {Ended, (Frame, "SEND"), (Invoke, "send")} <= met
    assert not {Fired, (Frame, "SEEK"), (Invoke, "seek")} & met


def test_a_plain_history_has_no_traits() -> None:
    assert not set(Trait) & _met(_story())


def test_a_frame_that_a_fault_touched_is_told() -> None:
    assert Trait.HARMED in _met(_story(fate=Fate.DUPLICATED))


def test_a_frame_whose_checksum_does_not_fit_is_told() -> None:
    assert Trait.HARMED in _met(_story(intact=False))


def test_a_setting_occurs_with_a_producer_that_has_it() -> None:
    assert Setting("producer", "batching") in _met(_story(), batching=True)


def test_a_setting_that_is_off_does_not_occur() -> None:
    assert Setting("producer", "batching") not in _met(_story(), batching=False)
