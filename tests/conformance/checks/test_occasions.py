"""What occurs in a history, and that a check is shown none without what it needs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check, on
from assay_conformance.checks.occasions import Occasion, Setting, Subscribed, Trait, occasions
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import Closed, ClosedBy, Ended, Fate, Fired, Frame, Invoke, Meta
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


class NeedsSeekOrSend(Sees):
    needs = (frozenset({(Frame, "SEEK"), (Frame, "SEND")}), Ended)


class NeedsSeekOrAck(Sees):
    needs = (frozenset({(Frame, "SEEK"), (Frame, "ACK")}),)


@pytest.mark.parametrize(("check", "times"), [(NeedsSeekOrSend, 1), (NeedsSeekOrAck, 0)])
def test_of_several_occasions_one_is_enough(check: type[Check], times: int) -> None:
    assert trial(check, _story().done()).exercised == times


def test_a_message_larger_than_a_broker_takes_is_told() -> None:
    size = ANY_CASE.topology.max_message_bytes + 1
    assert Trait.OVERSIZE in _met(_story(size=size))


def test_a_batch_that_cannot_be_taken_apart_is_told() -> None:
    meta = Meta(producer_name="p", sequence_id=0, batch=2)
    assert Trait.UNREADABLE in _met(_story(meta=meta, members=(), intact=True))


def test_a_broker_that_closes_a_connection_lets_go() -> None:
    story = _story()
    story.add(Closed, conn=0, by=ClosedBy.BROKER)
    assert Trait.LET_GO in _met(story)


def test_a_client_that_leaves_is_not_let_go() -> None:
    story = _story()
    story.add(Closed, conn=0, by=ClosedBy.CLIENT)
    assert Trait.LET_GO not in _met(story)


def test_the_type_of_a_subscription_is_told() -> None:
    story = _story()
    story.consumer(kind="Shared")
    met = _met(story)
    assert Subscribed("Shared") in met
    assert Subscribed("Key_Shared") not in met


def test_subscriptions_to_two_topics_are_told() -> None:
    story = Script({"t": "persistent://public/default/t", "u": "persistent://public/default/u"})
    story.consumer()
    story.consumer(handle=3, consumer_id=2, topic="u")
    assert Trait.SEVERAL_TOPICS in _met(story)


@pytest.mark.parametrize(("interval_ms", "told"), [(0, True), (100, False)])
def test_a_consumer_whose_acknowledgments_wait_for_nothing_is_told(interval_ms: int, told: bool) -> None:
    story = _story()
    story.consumer()
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"ack_group_ms"}))
    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(consumer={"ack_group_ms": interval_ms}))
    assert (Trait.NO_INTERVAL in occasions(story.done(), case, facts)) is told
