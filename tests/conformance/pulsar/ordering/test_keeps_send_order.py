"""The check of `ordering.keeps-send-order`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._reopened_names import AGAIN, Story, closed_and_opened_again
from tests.conformance.pulsar._torn_streams import codes_found, sent
from tests.conformance.pulsar.ordering._histories import three

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import NAME, PRODUCER, Script
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.event import ClosedBy, Fate, Sides
from assay_conformance.model.verdict import Grade
from assay_conformance.pulsar.checks.ordering.keeps_send_order import keeps_send_order


def _story(*stored: int, ok: tuple[int, ...] = (0, 1, 2)) -> Script:
    story = Script()
    three(story)
    for number in stored:
        story.stored(number)
    for number in ok:
        story.receipt(number)
        story.ok(number)
    story.read_back(*range(len(stored)))
    return story


def test_stored_in_send_order_is_accepted() -> None:
    check = trial(keeps_send_order, _story(0, 1, 2).done())
    assert (check.findings, check.exercised) == ([], 2)


def test_copies_left_by_a_resend_are_accepted() -> None:
    assert trial(keeps_send_order, _story(0, 1, 0, 1, 2).done()).findings == []


def test_stored_out_of_order_is_found() -> None:
    (finding,) = trial(keeps_send_order, _story(0, 2, 1).done()).findings
    assert finding.code == "stored-out-of-order"
    assert "message 1" in finding.sentence


@pytest.mark.parametrize(("args", "codes"), [({"in_callback": 9}, []), ({}, ["stored-out-of-order"])])
def test_send_in_a_callback_may_overtake_one_whose_call_was_still_waiting(
    args: dict[str, int], codes: list[str]
) -> None:
    story = Script()
    story.producer()
    calls = [story.send(number, **(args if number == 2 else {})) for number in range(3)]
    for number in (0, 2, 1):
        story.stored(number)
        story.complete(calls[number], called_ns=story.now_ns)
    story.read_back(0, 1, 2)
    assert codes_found(keeps_send_order, story) == codes


def test_acknowledged_but_missing_is_found() -> None:
    (finding,) = trial(keeps_send_order, _story(0, 2).done()).findings
    assert (finding.code, finding.grade) == ("acked-but-missing", Grade.A)


def test_unknown_send_may_be_missing() -> None:
    assert trial(keeps_send_order, _story(0, 2, ok=(0, 2)).done()).findings == []


def test_loss_is_not_judged_without_the_last_word_on_the_topic() -> None:
    story = _story(0, 2)
    events = [event for event in story.done() if type(event).__name__ != "ReadBack"]
    assert trial(keeps_send_order, events).findings == []


def test_message_altered_on_its_way_is_not_judged() -> None:
    story = _story(0, 2)
    story.send_frame(1, sides=Sides.RECEIVER, fate=Fate.ALTERED)
    assert trial(keeps_send_order, story.done()).findings == []


def test_loss_on_a_throttled_topic_is_left_to_throttling() -> None:
    topology = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=5)),))
    case = msgspec.structs.replace(ANY_CASE, topology=topology)
    assert trial(keeps_send_order, _story(0, 2).done(), case).findings == []


def test_partitions_keep_order_each_for_itself() -> None:
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=2),)))
    story = Script()
    three(story)
    for number, partition in ((1, 1), (0, 0), (2, 0)):
        story.stored(number, topic=f"t-partition-{partition}")
    assert trial(keeps_send_order, story.done(), case).findings == []


def test_out_of_order_within_a_partition_is_found() -> None:
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=2),)))
    story = Script()
    three(story)
    story.stored(2, topic="t-partition-0")
    story.stored(0, topic="t-partition-0")
    assert [f.code for f in trial(keeps_send_order, story.done(), case).findings] == ["stored-out-of-order"]


def _dispatch(*entries: int, kind: str = "Exclusive") -> list[str]:
    story = Script()
    story.consumer(kind=kind)
    for entry in entries:
        story.message(entry)
    return [finding.code for finding in trial(keeps_send_order, story.done()).findings]


def test_dispatched_out_of_order_is_found() -> None:
    assert _dispatch(0, 2, 1) == ["dispatched-out-of-order"]


def test_redelivery_may_go_back() -> None:
    assert _dispatch(0, 1, 2, 1, 2, 3) == []


def test_shared_subscription_has_no_dispatch_order() -> None:
    assert _dispatch(0, 2, 1, kind="Shared") == []


def test_small_messages_of_both_are_held() -> None:
    story = closed_and_opened_again()
    story.sent(0, 1, handle=AGAIN, producer_id=1)
    story.kept(0, 1, handle=AGAIN, producer_id=1)
    assert story.judged(keeps_send_order) == []


def test_small_message_that_is_missing_is_found() -> None:
    story = closed_and_opened_again()
    story.sent(0, 1, handle=AGAIN, producer_id=1)
    story.kept(0, handle=AGAIN, producer_id=1)
    story.receipt(1, producer_id=1)
    story.ok(1, AGAIN)
    assert story.judged(keeps_send_order) == ["acked-but-missing"]


def test_small_messages_out_of_order_are_found() -> None:
    story = closed_and_opened_again()
    story.sent(0, 1, handle=AGAIN, producer_id=1)
    story.kept(1, 0, handle=AGAIN, producer_id=1)
    assert story.judged(keeps_send_order) == ["stored-out-of-order"]


def test_session_that_two_producers_may_have_written_is_nobodys() -> None:
    story = Story()
    story.producer()
    story.sent(0)
    story.invoke("close", PRODUCER, args={"handle": PRODUCER})  # not known to have ended
    story.cut()
    story.invoke("open_producer", AGAIN, args={"topic": "t", "config": {"producer_name": NAME}})
    story.producer_again(1)
    story.send(0, AGAIN, size=10)
    story.send_frame(0, handle=AGAIN, conn=1, **story.small(0, AGAIN))
    story.stored(0, handle=AGAIN, **story.small(0, AGAIN))
    story.ok(0, AGAIN)
    assert story.judged(keeps_send_order) == []


def _stored_after_a_resend(story: Script, *numbers: int) -> Script:
    """What is stored: of the first stream, then all of the resend from message 1 on."""
    for number in numbers:
        story.stored(number)
    story.cut(by=ClosedBy.CLIENT)
    story.producer_again(1)
    for number in (1, 2):
        story.send_frame(number, conn=1)
        story.stored(number)
    for number in range(3):
        story.ok(number)
    story.read_back(0, 1, 2, 3)
    return story


@pytest.mark.parametrize("injected", [False, True])
def test_order_behind_a_send_that_was_taken_out_is_not_judged(injected: bool) -> None:
    story = sent()
    story.send_frame(0)
    story.send_frame(1, sides=Sides.SENDER, fate=Fate.DROPPED)
    if injected:
        error = {"error": "PersistenceError"}
        story.down("SEND_ERROR", producer_id=0, sequence_id=1, fields=error, sides=Sides.RECEIVER, fate=Fate.INJECTED)
    story.send_frame(2)
    assert codes_found(keeps_send_order, _stored_after_a_resend(story, 0, 2)) == []


def test_order_behind_a_send_that_was_overtaken_is_not_judged() -> None:
    story = sent()
    story.send_frame(0)
    held = story.send_frame(1, sides=Sides.SENDER, fate=Fate.HELD)
    story.send_frame(2)
    story.send_frame(1, sides=Sides.RECEIVER, fate=Fate.RELEASED, frame=held.frame)
    for number in (0, 2, 1):
        story.stored(number)
    assert codes_found(keeps_send_order, story) == []


def test_order_is_judged_when_a_send_was_lost_with_its_connection() -> None:
    story = sent()
    story.send_frame(0)
    story.send_frame(1)
    story.send_frame(2, sides=Sides.SENDER, fate=Fate.CUT)
    assert codes_found(keeps_send_order, _stored_after_a_resend(story, 0, 2)) == ["stored-out-of-order"]


def test_order_is_judged_when_a_held_send_keeps_its_place() -> None:
    story = sent()
    held = [story.send_frame(number, sides=Sides.SENDER, fate=Fate.HELD) for number in range(3)]
    for number, frame in enumerate(held):
        story.send_frame(number, sides=Sides.RECEIVER, fate=Fate.RELEASED, frame=frame.frame)
    for number in (0, 2, 1):
        story.stored(number)
    assert codes_found(keeps_send_order, story) == ["stored-out-of-order"]


def test_loss_behind_a_send_that_was_taken_out_is_not_judged() -> None:
    story = sent(2)
    story.send_frame(0, sides=Sides.SENDER, fate=Fate.DROPPED)
    story.send_frame(1)
    story.stored(1)
    story.ok(0)
    story.read_back(0)
    assert codes_found(keeps_send_order, story) == []
