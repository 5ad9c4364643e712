"""The check of `compression.interoperable-format`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.compression._histories import Reading, compressed, judged, sent

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import CONSUMER, MESSAGE_BYTES, entry_id
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import Fired
from assay_conformance.model.fault import Direction, Fault, Inject, OnFrame
from assay_conformance.pulsar.checks.compression.interoperable_format import interoperable_format
from assay_conformance.pulsar.checks.compression.uncompressed_size_exact import uncompressed_size_exact


@pytest.mark.parametrize("check", [interoperable_format, uncompressed_size_exact])
def test_message_that_unpacks_to_what_was_asked_for_is_accepted(check: type[Check]) -> None:
    assert judged(sent(compressed()), check) == ([], 1)


def test_message_in_another_format_is_found() -> None:
    assert judged(sent(compressed(unpacked_bytes=-1), members=()), interoperable_format) == (["another-format"], 0)


def test_size_that_is_wrong_is_no_matter_of_the_format() -> None:
    meta = compressed(uncompressed_size=0, unpacked_bytes=MESSAGE_BYTES)
    assert judged(sent(meta, members=()), interoperable_format) == ([], 1)


def test_compressed_message_that_is_handed_over_is_accepted() -> None:
    story = Reading()
    story.comes(0)
    story.received(0)
    assert judged(story, interoperable_format) == ([], 1)


def test_compressed_message_handed_over_as_something_else_is_found() -> None:
    story = Reading()
    story.comes(0)
    story.received(0, digest=1)
    assert judged(story, interoperable_format) == (["message-changed"], 0)


def test_message_of_a_batch_is_compared_with_nothing_but_itself() -> None:
    story = Reading()
    story.message(0, 1, meta=compressed(batch=2))
    for _ in range(2):
        story.received(1, entry=0, message_id=entry_id(0, 1, 2))
    assert judged(story, interoperable_format) == ([], 1)


def test_id_of_a_non_persistent_topic_may_come_twice() -> None:
    transient = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=False),)))
    story = Reading()
    story.comes(0)
    story.received(0, digest=1)
    assert judged(story, interoperable_format, transient) == ([], 0)


def test_compressed_message_behind_bytes_that_are_no_frame_may_never_be_read() -> None:
    garbage = Fault(trigger=OnFrame(command="MESSAGE", direction=Direction.TO_CLIENT), action=Inject(raw=b"nothing"))
    story = Reading()
    story.add(Fired, fault=0, action="inject", conn=0)
    story.comes(0)
    story.after(2_000)
    story.receive(1, 0)
    assert judged(story, interoperable_format, msgspec.structs.replace(ANY_CASE, faults=(garbage,))) == ([], 0)


def test_compressed_message_that_is_withheld_is_found() -> None:
    story = Reading()
    story.comes(0)
    story.after(1_000)
    story.receive(1, got=0)
    assert judged(story, interoperable_format) == (["not-delivered"], 0)


@pytest.mark.parametrize(("most", "codes"), [(1, []), (0, ["not-delivered"])])
def test_message_that_comes_again_to_a_consumer_that_buries_may_be_a_letter(most: int, codes: list[str]) -> None:
    story = Reading(max_redeliver_count=most)
    story.comes(0)
    story.received(0)
    story.comes(0)
    story.after(1_000)
    story.receive(1, got=0)
    assert judged(story, interoperable_format)[0] == codes


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
    assert judged(story, interoperable_format) == ([], 0)


def test_message_of_a_consumer_that_another_one_may_be_is_not_missed() -> None:
    story = Reading()
    story.comes(0)
    story.consumer(CONSUMER + 1, conn=1)
    story.connected(2)
    story.subscribed(2)
    story.after(1_000)
    story.receive(1, got=0)
    assert judged(story, interoperable_format)[0] == []


def test_message_let_go_when_everything_is_asked_for_again_is_not_withheld() -> None:
    story = Reading()
    story.comes(0)
    story.redeliver_frame()
    story.after(1_000)
    story.receive(1, got=0)
    assert judged(story, interoperable_format) == ([], 0)
