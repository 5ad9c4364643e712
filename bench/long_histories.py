"""Long histories by hand, each with many of one thing: what `bench.growth` has judged in two sizes.

A function takes how many of it there are to be, and returns the story; `EVENTS_EACH` says how many events one of them
is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from assay_conformance.history.script import CONSUMER, LEDGER, PRODUCER, Script, entry_id
from assay_conformance.model.event import ErrorClass

ENDLESS_PERMITS: Final = 10_000_000
FIRST_REQUEST: Final = 1_000_000
"""Larger than the ids of requests that a `Script` gives out."""


def consumers(count: int) -> Script:
    """Open a consumer for each message, with a subscription of its own, all on one connection."""
    story = Script()
    story.producer()
    for number in range(count):
        handle = 10 + number
        story.consumer(handle, consumer_id=number, subscription=f"s{number}")
        story.flow(10, consumer_id=number)
        _receives(story, 0, handle, consumer_id=number)
        _acknowledges(story, 0, 1, handle, consumer_id=number)
        _closes_consumer(story, handle, number)
    return story


def members(count: int) -> Script:
    """Let consumers of one Shared subscription come and go beside one that stays."""
    story = Script()
    story.producer()
    story.consumer(9, kind="Shared", subscription_type="shared")
    for number in range(count):
        handle, consumer_id = 10 + number, 1 + number
        story.consumer(handle, consumer_id=consumer_id, kind="Shared", subscription_type="shared")
        story.flow(10, consumer_id=consumer_id)
        story.stored(number)
        _receives(story, number, handle, consumer_id=consumer_id)
        _acknowledges(story, number, 1, handle, consumer_id=consumer_id)
        _closes_consumer(story, handle, consumer_id)
    return story


def topics(count: int) -> Script:
    """Use a topic for each message, with a producer and a consumer, all on one connection."""
    names = [f"t{number}" for number in range(count)]
    story = Script(
        {"t": "persistent://public/default/t", **{one: f"persistent://public/default/{one}" for one in names}}
    )
    for number, topic in enumerate(names):
        producer, consumer, name = 10 + 2 * number, 11 + 2 * number, f"p{number}"
        story.producer(producer, producer_id=number, topic=topic, name=name)
        story.consumer(consumer, consumer_id=number, topic=topic)
        story.flow(10, consumer_id=number)
        story.send(0, producer)
        story.send_frame(0, handle=producer, producer_id=number, name=name)
        story.stored(0, topic=topic, entry=0, handle=producer, name=name)
        story.receipt(0, producer_id=number)
        story.ok(0, producer)
        receive = story.invoke("receive", consumer, args={"count": 1})
        story.message(0, consumer_id=number, handle=producer, name=name)
        story.received(0, consumer, handle=producer, topic=story.full(topic), producer_name=name)
        story.complete(receive, count=1)
        _acknowledges(story, 0, 1, consumer, consumer_id=number)
    return story


def unloads(count: int) -> Script:
    """Let the broker close producer and consumer after each message; they come back on the connection they have."""
    story = Script()
    story.producer()
    story.consumer()
    for number in range(count):
        story.flow(1)
        _sends(story, number)
        _receives(story, number, CONSUMER)
        story.ack_frame(number)
        story.down("CLOSE_PRODUCER", producer_id=0, request_id=0)
        story.down("CLOSE_CONSUMER", consumer_id=0, request_id=0)
        story.producer_ready(last_sequence_id=number, epoch=number + 1)
        story.subscribed()
    return story


def flushes(count: int) -> Script:
    """Flush after each message."""
    story = Script()
    story.producer()
    for number in range(count):
        story.send(number)
        flush = story.invoke("flush", PRODUCER)
        story.send_frame(number)
        story.stored(number)
        story.receipt(number)
        story.ok(number)
        story.complete(flush)
    return story


def refused(count: int) -> Script:
    """Let a producer be refused again and again, while its sends time out."""
    story = Script()
    story.producer()
    story.cut()
    story.connected(1)
    for number in range(count):
        asked = story.producer_asks(1, epoch=number + 1)
        story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "ServiceNotReady"})
        story.send(number)
        story.fail(number, ErrorClass.TIMEOUT)
    story.producer_ready(1, epoch=count + 1)
    return story


def stuck(count: int) -> Script:
    """Send one message again on each of many connections, where it is never answered; those after it time out."""
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    for number in range(count):
        story.send(number + 1)
        story.send_frame(number + 1, conn=number)
        story.fail(number + 1, ErrorClass.TIMEOUT)
        story.cut(number)
        story.producer_again(number + 1, epoch=number + 1)
        story.send_frame(0, conn=number + 1)
    return story


def closed(count: int) -> Script:
    """Close producers while their connection is gone, each with one of its own."""
    story = Script()
    for number in range(count):
        handle, name = 10 + number, f"p{number}"
        story.connected(number)
        opening = story.invoke("open_producer", handle, args={"topic": "t"})
        story.producer_ready(number, name=name)
        story.complete(opening, producer_name=name)
        story.cut(number)
        story.complete(story.invoke("close", handle))
    return story


def seeks(count: int) -> Script:
    """Seek back after each message."""
    story = Script()
    story.producer()
    story.consumer()
    for number in range(count):
        story.flow(1)
        _receives(story, 0, CONSUMER)
        seek = story.invoke("seek", CONSUMER, args={"message_id": [LEDGER, 0, -1, -1]})
        story.up("SEEK", consumer_id=0, request_id=FIRST_REQUEST + number, ids=(entry_id(0),))
        story.down("SUCCESS", request_id=FIRST_REQUEST + number)
        story.complete(seek)
        story.down("CLOSE_CONSUMER", consumer_id=0, request_id=0)
        story.subscribed()
    return story


def cumulative(count: int) -> Script:
    """Deliver all messages before they are acknowledged, each up to itself."""
    story = Script()
    story.producer()
    story.consumer()
    story.flow(ENDLESS_PERMITS)
    for number in range(count):
        story.stored(number)
        _receives(story, number, CONSUMER)
    for number in range(count):
        _acknowledges(story, number, number + 1, CONSUMER, cumulative=True)
    return story


def nacks(count: int) -> Script:
    """Nack one message each time it comes."""
    story = Script()
    story.producer()
    story.consumer(kind="Shared", subscription_type="shared", nack_delay_ms=1)
    story.flow(ENDLESS_PERMITS)
    story.stored(0)
    for number in range(count):
        _receives(story, 0, CONSUMER, redelivery_count=number)
        story.complete(story.invoke("nack", CONSUMER, args={"messages": [number + 1]}))
        story.redeliver_frame(0)
    return story


EVENTS_EACH: Final[dict[Callable[[int], Script], int]] = {
    consumers: 16,
    members: 17,
    topics: 21,
    unloads: 17,
    flushes: 7,
    refused: 4,
    stuck: 10,
    closed: 10,
    seeks: 12,
    cumulative: 8,
    nacks: 7,
}


def _sends(story: Script, number: int) -> None:
    story.send(number)
    story.send_frame(number)
    story.stored(number)
    story.receipt(number)
    story.ok(number)


def _receives(story: Script, number: int, handle: int, *, consumer_id: int = 0, redelivery_count: int = 0) -> None:
    receive = story.invoke("receive", handle, args={"count": 1})
    story.message(number, consumer_id=consumer_id, redelivery_count=redelivery_count)
    story.received(number, handle)
    story.complete(receive, count=1)


def _acknowledges(
    story: Script, number: int, delivery: int, handle: int, *, consumer_id: int = 0, cumulative: bool = False
) -> None:
    ack = story.invoke("ack", handle, args={"messages": [delivery], "cumulative": cumulative})
    story.ack_frame(number, consumer_id=consumer_id, ack_type="Cumulative" if cumulative else "Individual")
    story.complete(ack)


def _closes_consumer(story: Script, handle: int, consumer_id: int) -> None:
    close = story.invoke("close", handle)
    story.up("CLOSE_CONSUMER", consumer_id=consumer_id, request_id=FIRST_REQUEST + consumer_id)
    story.down("SUCCESS", request_id=FIRST_REQUEST + consumer_id)
    story.complete(close)
