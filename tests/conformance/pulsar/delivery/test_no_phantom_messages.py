"""The check of `delivery.no-phantom-messages`, both ways, on histories of a few lines."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from tests.conformance.pulsar.delivery._histories import exchange, judged, two_messages

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import MESSAGE_BYTES, PRODUCER, Script, entry_id
from assay_conformance.model.case import Case, Step, Topic, Topology, Who
from assay_conformance.model.event import Event, Fate, MessageId, Meta, Received
from assay_conformance.model.verdict import Finding
from assay_conformance.pulsar.checks.delivery.no_phantom_messages import no_phantom_messages
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import FACTS, ReferenceTrial
from assay_fixtures.runner.judging import judge


def one_comes_from_nowhere(s: Script) -> None:
    exchange(s, 0)
    s.received(7)


def test_deliveries_of_what_was_sent_are_accepted() -> None:
    assert judged(no_phantom_messages, two_messages) == ([], 2)


def test_delivery_of_what_was_never_sent_is_found() -> None:
    assert judged(no_phantom_messages, one_comes_from_nowhere)[0] == ["never-sent"]


def test_what_a_step_stored_in_a_partition_was_asked_for() -> None:
    def story(s: Script) -> None:
        s.stored(0, handle=9, meta=Meta(producer_name="stored", sequence_id=0), topic="t-partition-1")

    steps = (Step(Who.BROKER, "store_entries", {"topic": "t-partition-1"}),)
    case = msgspec.structs.replace(ANY_CASE, steps=steps, topology=Topology(topics=(Topic(name="t", partitions=3),)))
    assert judged(no_phantom_messages, story, case=case)[0] == []


Story = Callable[[Script], None]

ABSENT = "persistent://public/default/absent"
OTHER = 5
"""A digest of no message."""
BENCH = 9
"""The handle of messages that a step stores."""
STORING: Case = msgspec.structs.replace(
    ANY_CASE,
    steps=(Step(Who.BROKER, "store_entries", {"topic": "t"}),),
    topology=Topology(topics=(Topic(name="t"),)),
)


def found(story: Story, *, read_back: bool = True, case: Case = ANY_CASE) -> list[Finding]:
    """Of a consumer and a producer on one topic."""
    script = Script()
    script.consumer(initial_position="earliest")
    script.producer()
    story(script)
    if read_back:
        script.read_back()
    return trial(no_phantom_messages, script.done(), case).findings


def codes(story: Story, *, read_back: bool = True, case: Case = ANY_CASE) -> list[str]:
    return [finding.code for finding in found(story, read_back=read_back, case=case)]


def exchanged(s: Script, *numbers: int) -> None:
    """Sent, stored, sent to the consumer and delivered."""
    for number in numbers:
        s.send(number)
        s.send_frame(number)
        s.stored(number)
        s.receipt(number)
        s.ok(number)
        s.message(number)
        s.received(number)


def stored_in_chunks(s: Script, *, size: int) -> None:
    """Two chunks of a message that a step stored, of 50 bytes each; and a delivery of `size` bytes under the first
    one's id."""
    first = Meta(producer_name="stored", sequence_id=0, uuid="stored-0", chunk_id=0, chunks=2)
    s.stored(0, handle=BENCH, entry=0, meta=first, size=50, members=())
    s.message(0, handle=BENCH, entry=0, meta=first, members=())
    last = msgspec.structs.replace(first, chunk_id=1)
    s.stored(0, handle=BENCH, entry=1, meta=last, size=50)
    s.message(0, handle=BENCH, entry=1, meta=last)
    s.received(0, handle=BENCH, entry=0, size=size, digest=OTHER)


def test_a_topic_that_does_not_exist_is_found() -> None:
    def story(s: Script) -> None:
        exchanged(s, 0)
        s.received(0, topic=ABSENT)

    assert codes(story) == ["unknown-topic"]


def test_bytes_that_nobody_sent_are_found() -> None:
    def story(s: Script) -> None:
        exchanged(s, 0)
        s.received(0, digest=OTHER)

    assert codes(story) == ["unknown-payload"]


def test_a_finding_names_consumer_message_size_and_digest() -> None:
    def story(s: Script) -> None:
        s.received(0, topic=ABSENT, digest=OTHER)

    assert found(story)[0].sentence.startswith(
        f"consumer 2 received message 1:0 of {MESSAGE_BYTES} bytes, CRC-32 00000005, at "
    )


def test_a_message_of_another_topic_is_found() -> None:
    def story(s: Script) -> None:
        s.consumer(3, consumer_id=1, topic="u")
        exchanged(s, 0)
        s.message(1, consumer_id=1)
        s.received(0, consumer=3, topic=s.full("u"))

    assert codes(story) == ["unknown-payload"]


def test_an_id_of_no_entry_is_found_where_the_others_name_theirs() -> None:
    def story(s: Script) -> None:
        exchanged(s, 0, 1)
        s.received(1, entry=77)

    assert codes(story, read_back=False) == ["unknown-id"]


@pytest.mark.parametrize(
    "id", [MessageId(-1, -1), entry_id(77)], ids=["a client that shows no id", "ids of a convention of its own"]
)
def test_ids_are_not_judged_where_their_convention_is_not_evident(id: MessageId) -> None:
    def story(s: Script) -> None:
        for number in (0, 1):
            s.send(number)
            s.send_frame(number)
            s.message(number)
            s.received(number, message_id=id)

    assert codes(story, read_back=False) == []


def test_one_lie_is_reported_once() -> None:
    def story(s: Script) -> None:
        exchanged(s, 0)
        s.received(7, digest=OTHER)

    assert codes(story) == ["never-sent"]


def test_what_cannot_be_read_may_be_anything() -> None:
    def story(s: Script) -> None:
        s.message(0, members=())
        s.received(0, digest=OTHER)

    assert codes(story, read_back=False) == []


def test_an_entry_that_can_be_read_is_judged_beside_one_that_cannot() -> None:
    def story(s: Script) -> None:
        exchanged(s, 0)
        s.message(1, members=())
        s.received(0, digest=OTHER)

    assert codes(story, read_back=False) == ["unknown-payload"]


@pytest.mark.parametrize(("size", "expected"), [(50, []), (51, ["unknown-payload"])])
def test_a_chunk_that_is_handed_over_is_invented_by_nobody(size: int, expected: list[str]) -> None:
    assert codes(lambda s: stored_in_chunks(s, size=size), read_back=False, case=STORING) == expected


def test_bytes_are_not_judged_on_a_topic_whose_record_is_incomplete() -> None:
    def story(s: Script) -> None:
        s.received(0, digest=OTHER)

    assert codes(story, read_back=False) == []


def test_what_a_fault_forged_is_known() -> None:
    def story(s: Script) -> None:
        exchanged(s, 0)
        s.message(3, fate=Fate.INJECTED)
        s.received(3)

    assert codes(story, read_back=False) == []


def test_a_topic_may_be_named_by_its_partition() -> None:
    def story(s: Script) -> None:
        exchanged(s, 0)
        s.received(0, topic=f"{s.full('t')}-partition-0")

    assert codes(story, read_back=False) == []


def test_a_letter_is_known_by_the_send_that_carried_it() -> None:
    def story(s: Script) -> None:
        exchanged(s, 0)
        s.producer(5, producer_id=4, topic="t-s-RETRY", name="letters")
        s.consumer(6, consumer_id=4, topic="t-s-RETRY")
        s.send_frame(0, handle=PRODUCER, producer_id=4, name="letters")
        s.message(0, consumer_id=4)
        s.received(0, consumer=6, topic=s.full("t-s-RETRY"))

    assert codes(story, read_back=False) == []


def _with_a_lie(events: list[Event], **lie: object) -> list[Event]:
    """The last delivery comes once more, and is told otherwise."""
    last = next(event for event in reversed(events) if isinstance(event, Received))
    before = [event for event in events if event.seq <= last.seq]
    behind = [msgspec.structs.replace(event, seq=event.seq + 1) for event in events if event.seq > last.seq]
    told = msgspec.structs.replace(last, seq=last.seq + 1, delivery=last.delivery + 1, **lie)
    return [*before, told, *behind]


LIES: dict[str, dict[str, object]] = {
    "topic and digest": {"topic": ABSENT, "digest": OTHER},
    "topic": {"topic": ABSENT},
    "digest": {"digest": OTHER, "identity": None},
    "id": {"message_id": MessageId(77, 99)},
}

CASES = (
    "nack/one-of-three",
    "ack/within-one-group-time",
    "batching/batch-of-one",
    "chunking/large-message",
    "compression/corrupt-lz4",
    "delivery/outage-while-sending",
    "dead-letter/nacked-beyond-max-redeliver-count",
    "robustness/corrupt-batch",
    "seek/backward-to-message-id",
)
"""Of which none but one is about `delivery.no-phantom-messages`."""


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("case_id", CASES)
def test_a_lie_is_found_in_every_case(case_id: str, lie: str) -> None:
    pack = load_packs()
    case = next(case for case in pack.cases if case.id == case_id)
    events = _with_a_lie(list(ReferenceTrial().in_virtual_time(case).events), **LIES[lie])
    told = judge(events, case, FACTS, pack.catalogue, pack.checks)
    assert no_phantom_messages.requirement in {finding.requirement for one in told for finding in one.findings}
