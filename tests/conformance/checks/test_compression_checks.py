"""Compression checks, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.compression import CommonFormat, ExactSize, GarbledMessage
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, MESSAGE_BYTES, NAME, Script, entry_id
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import Fired, Meta
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.fault import Direction, Fault, Inject, OnFrame

CLIENT = ClientFacts(
    agent="test",
    client="test-client",
    client_version="1",
    capabilities=frozenset(),
    fixed={"receiver_queue_size": 2},
    settable=frozenset({"compression", "max_redeliver_count"}),
)
SMALL_MESSAGES = msgspec.structs.replace(ANY_CASE, topology=Topology(max_message_bytes=1_000))


def _meta(**fields: Any) -> Meta:
    values = {"compression": "LZ4", "uncompressed_size": MESSAGE_BYTES, **fields}
    return Meta(producer_name=NAME, sequence_id=0, **values)


def _judged(story: Script, check: type[Check], case: Any = ANY_CASE) -> tuple[list[str], int]:
    said = trial(check, story.done(), case, CLIENT)
    return [finding.code for finding in said.findings], said.exercised


# --- what a producer writes ---


def _sent(meta: Meta, compression: str = "LZ4", **fields: Any) -> Script:
    story = Script()
    story.producer(compression=compression)
    story.send(0)
    story.send_frame(0, meta=meta, **fields)
    return story


@pytest.mark.parametrize("check", [CommonFormat, ExactSize])
def test_message_that_unpacks_to_what_was_asked_for_is_accepted(check: type[Check]) -> None:
    assert _judged(_sent(_meta()), check) == ([], 1)


def test_message_in_another_format_is_found() -> None:
    assert _judged(_sent(_meta(unpacked_bytes=-1), members=()), CommonFormat) == (["another-format"], 0)


def test_message_in_another_format_has_no_size_to_judge() -> None:
    assert _judged(_sent(_meta(unpacked_bytes=-1), members=()), ExactSize) == ([], 0)


def test_size_that_is_wrong_is_found() -> None:
    meta = _meta(uncompressed_size=0, unpacked_bytes=MESSAGE_BYTES)
    assert _judged(_sent(meta, members=()), ExactSize) == (["wrong-size"], 0)


def test_size_that_is_wrong_is_no_matter_of_the_format() -> None:
    meta = _meta(uncompressed_size=0, unpacked_bytes=MESSAGE_BYTES)
    assert _judged(_sent(meta, members=()), CommonFormat) == ([], 1)


def test_payload_untouched_without_compression_is_accepted() -> None:
    plain = Meta(producer_name=NAME, sequence_id=0)
    assert _judged(_sent(plain, "NONE"), ExactSize) == ([], 1)


def test_compression_that_nobody_asked_for_is_found() -> None:
    assert _judged(_sent(_meta(), "NONE"), ExactSize) == (["compressed-unasked"], 1)


def test_client_may_leave_a_small_payload_uncompressed() -> None:
    plain = Meta(producer_name=NAME, sequence_id=0)
    assert _judged(_sent(plain, "LZ4"), ExactSize) == ([], 1)


def test_payload_that_nobody_asked_for_is_found() -> None:
    story = Script()
    story.producer(compression="NONE")
    story.send(0)
    story.send_frame(7, sequence_id=0)
    assert _judged(story, ExactSize) == (["payload-changed"], 1)


# --- what a consumer reads ---


class Reading(Script):
    """A consumer with a queue of two."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        self.consumer(**config)
        self.flow(2)

    def comes(self, number: int, **fields: Any) -> None:
        self.message(number, **{"meta": _meta(), **fields})

    def garbled(self, number: int) -> None:
        self.comes(number, meta=_meta(unpacked_bytes=-1), members=())

    def reported(self, number: int, error: str) -> None:
        self.ack_frame(number, fields={"validation_error": error})

    def receive(self, asked: int, got: int) -> None:
        invoke = self.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": asked})
        self.complete(invoke, count=got)


def test_compressed_message_that_is_handed_over_is_accepted() -> None:
    story = Reading()
    story.comes(0)
    story.received(0)
    assert _judged(story, CommonFormat) == ([], 1)


def test_compressed_message_handed_over_as_something_else_is_found() -> None:
    story = Reading()
    story.comes(0)
    story.received(0, digest=1)
    assert _judged(story, CommonFormat) == (["message-changed"], 0)


def test_message_of_a_batch_is_compared_with_nothing_but_itself() -> None:
    story = Reading()
    story.message(0, 1, meta=_meta(batch=2))
    for _ in range(2):
        story.received(1, entry=0, message_id=entry_id(0, 1, 2))
    assert _judged(story, CommonFormat) == ([], 1)


def test_id_of_a_non_persistent_topic_may_come_twice() -> None:
    transient = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=False),)))
    story = Reading()
    story.comes(0)
    story.received(0, digest=1)
    assert _judged(story, CommonFormat, transient) == ([], 0)


def test_compressed_message_behind_bytes_that_are_no_frame_may_never_be_read() -> None:
    garbage = Fault(trigger=OnFrame(command="MESSAGE", direction=Direction.TO_CLIENT), action=Inject(raw=b"nothing"))
    story = Reading()
    story.add(Fired, fault=0, action="inject", conn=0)
    story.comes(0)
    story.after(2_000)
    story.receive(1, 0)
    assert _judged(story, CommonFormat, msgspec.structs.replace(ANY_CASE, faults=(garbage,))) == ([], 0)


def test_compressed_message_that_is_withheld_is_found() -> None:
    story = Reading()
    story.comes(0)
    story.after(1_000)
    story.receive(1, got=0)
    assert _judged(story, CommonFormat) == (["not-delivered"], 0)


@pytest.mark.parametrize(("most", "codes"), [(1, []), (0, ["not-delivered"])])
def test_message_that_comes_again_to_a_consumer_that_buries_may_be_a_letter(most: int, codes: list[str]) -> None:
    story = Reading(max_redeliver_count=most)
    story.comes(0)
    story.received(0)
    story.comes(0)
    story.after(1_000)
    story.receive(1, got=0)
    assert _judged(story, CommonFormat)[0] == codes


def test_message_that_comes_before_its_subscribe_is_answered_is_left_over_and_need_not_be_handed_over() -> None:
    story = Reading()
    story.down("CLOSE_CONSUMER", consumer_id=0)
    asked = story.up(
        "SUBSCRIBE",
        consumer_id=0,
        request_id=90,
        fields={"topic": story.full("t"), "subscription": "s", "subType": "Exclusive"},
    )
    story.comes(0)
    story.down("SUCCESS", request_id=asked.request_id)
    story.after(1_000)
    story.receive(1, got=0)
    assert _judged(story, CommonFormat) == ([], 0)


def test_message_of_a_consumer_that_another_one_may_be_is_not_missed() -> None:
    story = Reading()
    story.comes(0)
    story.consumer(CONSUMER + 1, conn=1)
    story.connected(2)
    story.subscribed(2)
    story.after(1_000)
    story.receive(1, got=0)
    assert _judged(story, CommonFormat)[0] == []


def test_message_let_go_when_everything_is_asked_for_again_is_not_withheld() -> None:
    story = Reading()
    story.comes(0)
    story.redeliver_frame()
    story.after(1_000)
    story.receive(1, got=0)
    assert _judged(story, CommonFormat) == ([], 0)


def test_garbled_message_that_is_reported_is_accepted() -> None:
    story = Reading()
    story.garbled(0)
    story.reported(0, "DecompressionError")
    story.flow(1)
    assert _judged(story, GarbledMessage) == ([], 1)


def test_body_larger_than_a_message_has_a_reason_of_its_own() -> None:
    story = Reading()
    story.comes(0, size=5_000)
    story.reported(0, "UncompressedSizeCorruption")
    assert _judged(story, GarbledMessage, SMALL_MESSAGES) == ([], 1)


def test_garbled_message_that_is_delivered_is_found() -> None:
    story = Reading()
    story.garbled(0)
    story.received(0)
    assert _judged(story, GarbledMessage) == (["garbled-delivered"], 0)


def test_what_an_application_acknowledges_was_delivered_and_not_reported() -> None:
    story = Reading()
    story.garbled(0)
    story.received(0)
    story.ack_frame(0)
    assert _judged(story, GarbledMessage) == (["garbled-delivered"], 0)


def test_garbled_message_that_is_settled_without_a_word_is_found() -> None:
    story = Reading()
    story.garbled(0)
    story.ack_frame(0)
    assert _judged(story, GarbledMessage) == (["wrong-report"], 0)


def test_garbled_message_reported_as_damaged_is_found() -> None:
    story = Reading()
    story.garbled(0)
    story.reported(0, "ChecksumMismatch")
    assert _judged(story, GarbledMessage) == (["wrong-report"], 0)


def test_garbled_message_that_nobody_reports_is_found() -> None:
    story = Reading()
    story.garbled(0)
    story.after(1_000)
    assert _judged(story, GarbledMessage) == (["not-reported"], 0)


def test_permits_of_garbled_messages_that_are_kept_are_found() -> None:
    story = Reading()
    for number in range(2):
        story.garbled(number)
        story.reported(number, "DecompressionError")
    story.after(1_000)
    assert _judged(story, GarbledMessage) == (["permit-not-returned"], 2)


def test_garbled_messages_that_are_taken_for_good_wait_in_the_queue_with_their_permits() -> None:
    story = Reading()
    for number in range(2):
        story.garbled(number)
    story.after(1_000)
    assert _judged(story, GarbledMessage) == (["not-reported", "not-reported"], 0)


def test_permits_of_garbled_messages_that_were_delivered_are_found() -> None:
    story = Reading()
    for number in range(2):
        story.garbled(number)
        story.received(number)
    story.after(1_000)
    assert _judged(story, GarbledMessage)[0] == [
        "garbled-delivered",
        "garbled-delivered",
        "not-reported",
        "not-reported",
        "permit-not-returned",
    ]


def test_garbled_message_that_was_delivered_is_not_counted_twice() -> None:
    """Two are used up, and one of them is still in the client's queue: it owes no permit for that."""
    story = Reading()
    story.garbled(0)
    story.comes(1)
    story.received(0)
    story.reported(0, "DecompressionError")
    story.after(1_000)
    assert _judged(story, GarbledMessage) == (["garbled-delivered"], 1)
