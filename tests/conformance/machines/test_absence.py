"""Cases without what brings a failure about."""

from __future__ import annotations

import pytest

from assay_conformance.machines.absence import untriggered, without
from assay_conformance.machines.signature import shape
from assay_conformance.model.case import Case, ClientConfig, Step, Who
from assay_conformance.model.fault import Cut, Direction, Drop, Fault, OnFrame

SEND = OnFrame(command="SEND", direction=Direction.TO_BROKER)
CUT, DROP = (Fault(trigger=SEND, action=action) for action in (Cut(), Drop()))
CASE = Case(
    id="x",
    title="x",
    requirements=(),
    steps=(
        Step(Who.AGENT, "send"),
        Step(Who.AGENT, "seek"),
        Step(Who.BROKER, "unload"),
    ),
    faults=(CUT, DROP),
    config=ClientConfig(producer={"chunking": True}),
)


@pytest.mark.parametrize("word", ["the way ends", "something is lost", "agent seek", "broker unload", "agent send"])
def test_what_carries_a_word_is_taken_out(word: str) -> None:
    left = without(CASE, word)
    assert left is not None
    assert shape(left) == shape(CASE) - {word}


def test_a_setting_is_taken_out() -> None:
    left = without(CASE, "producer chunking=True")
    assert left is not None
    assert left.config.producer == {}


def test_what_is_not_there_cannot_be_taken_out() -> None:
    assert without(CASE, "agent nack") is None


def test_of_a_trigger_each_part_is_left_out_once_faults_first() -> None:
    cases = untriggered(CASE, [frozenset({"agent seek", "the way ends"})])
    assert [shape(CASE) - shape(case) for case in cases] == [{"the way ends"}, {"agent seek"}]


def test_of_several_triggers_none_is_left() -> None:
    triggers = [frozenset({"the way ends"}), frozenset({"something is lost", "agent seek"})]
    cases = untriggered(CASE, triggers)
    assert all(not trigger <= shape(case) for case in cases for trigger in triggers)
    assert shape(CASE) - shape(cases[0]) == {"something is lost", "the way ends"}


def test_a_trigger_of_which_nothing_can_be_taken_leaves_no_case() -> None:
    assert untriggered(CASE, [frozenset({"topology brokers"})]) == []
