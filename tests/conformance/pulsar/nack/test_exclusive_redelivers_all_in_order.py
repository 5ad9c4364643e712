"""The check of `nack.exclusive-redelivers-all-in-order`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.nack._pace import refused

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Handled
from assay_conformance.pulsar.checks.nack.exclusive_redelivers_all_in_order import exclusive_redelivers_all_in_order


def everything_again(kind: str = "Exclusive") -> Consuming:
    story = refused(kind=kind)
    story.after(300)
    story.redeliver_frame()
    for entry in range(5):
        story.message(entry)
    return story


def test_everything_handed_over_again_is_right() -> None:
    story = everything_again()
    for entry in range(5):
        story.received(entry)
    assert story.judged(exclusive_redelivers_all_in_order) == ([], 5)


def test_message_out_of_order_is_found() -> None:
    story = everything_again()
    for entry in (0, 2, 1, 3, 4):
        story.received(entry)
    assert story.judged(exclusive_redelivers_all_in_order)[0] == ["out-of-order"]


@pytest.mark.parametrize(("error", "codes"), [("DecompressionError", []), (None, ["out-of-order"])])
def test_message_that_the_client_discards_and_reports_need_not_come_back(error: str | None, codes: list[str]) -> None:
    story = everything_again()
    story.received(0)
    story.ack_frame(2, fields={} if error is None else {"validation_error": error})
    for entry in (1, 3, 4) if error else (1, 3, 2, 4):
        story.received(entry)
    assert story.judged(exclusive_redelivers_all_in_order)[0] == codes


def test_what_was_sought_need_not_come_back() -> None:
    story = refused(kind="Exclusive")
    story.complete(story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, -1, 0]}))
    story.after(300)
    story.redeliver_frame()
    for entry in range(5):
        story.message(entry)
    for entry in range(1, 5):
        story.received(entry)
    assert story.judged(exclusive_redelivers_all_in_order) == ([], 4)


def test_message_that_does_not_come_back_is_found() -> None:
    story = everything_again("Failover")
    story.received(0)
    story.after(600)
    story.receive(asked=4, got=0)
    assert story.judged(exclusive_redelivers_all_in_order)[0] == ["not-back"]


@pytest.mark.parametrize(("reads", "codes"), [(True, []), (False, ["not-back"])])
def test_what_a_reader_has_read_need_not_come_back(reads: bool, codes: list[str]) -> None:
    story = refused(kind="Exclusive")
    if reads:
        story.as_reader()
    story.after(300)
    story.redeliver_frame()
    story.message(0)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(exclusive_redelivers_all_in_order)[0] == codes


@pytest.mark.parametrize(("runs", "codes"), [(True, []), (False, ["not-back"])])
def test_nothing_is_due_while_a_handler_call_runs(runs: bool, codes: list[str]) -> None:
    story = everything_again()
    story.as_listener()
    handed = story.received(0, called_ns=story.now_ns)
    if not runs:
        story.add(Handled, handle=CONSUMER, delivery=handed.delivery, done_ns=story.now_ns)
    receive = story.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": 1})
    story.after(600)
    story.complete(receive, count=0)
    assert story.judged(exclusive_redelivers_all_in_order)[0] == codes


def test_acknowledged_message_need_not_come_back() -> None:
    story = everything_again()
    story.received(0)
    story.ack(2)
    for entry in (2, 3, 4):
        story.received(entry)
    assert story.judged(exclusive_redelivers_all_in_order) == ([], 4)


def test_what_another_subscription_acknowledged_comes_back_all_the_same() -> None:
    story = everything_again()
    other = CONSUMER + 1
    story.consumer(other, consumer_id=1, subscription="other", kind="Exclusive")
    story.message(0, consumer_id=1)
    story.received(0, consumer=other)
    acking = story.invoke("ack", other, args={"consumer": other, "messages": [1]})
    story.complete(acking)
    story.received(1)
    assert story.judged(exclusive_redelivers_all_in_order)[0] == ["out-of-order"]


def test_prefetched_copies_may_come_first() -> None:
    story = Consuming("Exclusive", nack_delay_ms=300)
    story.gets(0)
    story.message(1)
    story.nack(1)
    story.after(300)
    story.redeliver_frame()
    story.message(0)
    story.message(1)
    for entry in (1, 0, 1):
        story.received(entry)
    assert story.judged(exclusive_redelivers_all_in_order) == ([], 1)


def test_what_was_on_its_way_in_an_earlier_epoch_may_be_dropped() -> None:
    story = refused(kind="Exclusive")
    story.after(300)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.message(5, fields={"consumer_epoch": 0})
    for entry in range(6):
        story.message(entry, fields={"consumer_epoch": 1})
    for entry in range(6):
        story.received(entry)
    assert story.judged(exclusive_redelivers_all_in_order) == ([], 5)


def test_shared_subscription_is_none_of_this() -> None:
    assert everything_again("Shared").judged(exclusive_redelivers_all_in_order) == ([], 0)
