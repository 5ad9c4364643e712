"""Whichever way a client names messages, checks are shown one."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT
from assay_conformance.history.client_words import translated
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.event import (
    Began,
    Completion,
    Event,
    Identity,
    Invoke,
    Member,
    MessageId,
    Meta,
    Outcome,
    Received,
    Stored,
)
from assay_conformance.model.facts import ClientFacts, Lack

FULL = "persistent://public/default/t"
BATCH, PLAIN = MessageId(1, 0), MessageId(1, 1)
MEMBERS = tuple(Member(size=64, digest=7, identity=Identity(1, 2, number)) for number in range(3))
PARTITIONED = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=2),)))


def stored(id: MessageId, members: tuple[Member, ...], topic: str = "t") -> Stored:
    meta = Meta(producer_name="p", sequence_id=0, batch=len(members) if len(members) > 1 else None)
    return Stored(seq=2, t_ns=0, topic=topic, id=id, size=1, unit=1, described=meta, members=members)


def received(id: MessageId, number: int | None = 0, topic: str | None = FULL) -> Received:
    identity = None if number is None else Identity(1, 2, number)
    return Received(
        seq=5, t_ns=0, handle=3, delivery=1, message_id=id, size=64, digest=7, identity=identity, topic=topic
    )


def history(*events: Event, topic: str = "t") -> list[Event]:
    began = Began(seq=0, t_ns=0, case="test/case", attempt=1, number=1, unix_ms=0, topics={"t": FULL})
    return [began, stored(BATCH, MEMBERS, topic), stored(PLAIN, MEMBERS[:1], topic), *events]


def id_of(event: Event, case: Case = ANY_CASE, topic: str = "t", facts: ClientFacts = ANY_CLIENT) -> MessageId:
    last = translated(history(event, topic=topic), case, facts)[-1]
    assert isinstance(last, Received | Completion)
    assert last.message_id is not None
    return last.message_id


def at(id: MessageId, **fields: int) -> MessageId:
    return msgspec.structs.replace(id, **fields)


@pytest.mark.parametrize("partition", [0, -1])
def test_topic_without_partitions_has_no_partition(partition: int) -> None:
    assert id_of(received(at(PLAIN, partition=partition))) == PLAIN


def test_partition_that_a_topic_without_partitions_cannot_have_stays() -> None:
    assert id_of(received(at(PLAIN, partition=2))).partition == 2


def test_partition_that_an_id_lacks_is_that_of_its_topic_or_of_its_entry() -> None:
    assert id_of(received(PLAIN, topic=f"{FULL}-partition-1"), PARTITIONED).partition == 1
    assert id_of(received(PLAIN), PARTITIONED, "t-partition-1").partition == 1


def test_partition_zero_of_a_topic_with_partitions_stays() -> None:
    assert id_of(received(at(PLAIN, partition=0)), PARTITIONED, "t-partition-0").partition == 0


@pytest.mark.parametrize("said", [BATCH, at(BATCH, batch_index=0, batch_size=1)])
def test_message_of_a_batch_without_an_index_is_told_by_its_identity(said: MessageId) -> None:
    assert id_of(received(said, 2)) == at(BATCH, batch_index=2, batch_size=3)


def test_messages_that_are_alike_are_told_by_their_turn() -> None:
    events = history(*(received(BATCH, None) for _ in range(3)))
    told = [event.message_id.batch_index for event in translated(events, ANY_CASE, ANY_CLIENT)[3:]]  # type: ignore[union-attr]
    assert told == [0, 1, 2]


def test_message_that_no_member_is_like_stays_without_an_index() -> None:
    assert id_of(msgspec.structs.replace(received(BATCH, 9), digest=8)) == BATCH


def test_wrong_index_stays() -> None:
    said = at(BATCH, batch_index=1, batch_size=3)
    assert id_of(received(said, 2)) == said


def test_message_that_is_in_no_batch_has_no_index() -> None:
    assert id_of(received(at(PLAIN, batch_index=0, batch_size=1))) == PLAIN


def test_id_that_a_send_reports_is_told_by_the_number_of_the_send() -> None:
    send = Invoke(seq=3, t_ns=0, op=1, verb="send", handle=2, number=1, size=64, digest=7)
    end = Completion(seq=4, t_ns=0, op=1, verb="send", outcome=Outcome.OK, handle=2, message_id=BATCH)
    events = translated(history(send, end), ANY_CASE, ANY_CLIENT)
    assert events[-1].message_id == at(BATCH, batch_index=1, batch_size=3)  # type: ignore[union-attr]


def test_seek_to_number_zero_of_one_names_the_whole_entry() -> None:
    seek = Invoke(seq=3, t_ns=0, op=1, verb="seek", handle=3, args={"message_id": [1, 0, -1, 0, 1]})
    (*_, last) = translated(history(seek), ANY_CASE, ANY_CLIENT)
    assert isinstance(last, Invoke)
    assert last.args["message_id"] == [1, 0, -1, -1, 0]


def test_redelivery_count_that_the_client_does_not_show_is_unknown() -> None:
    lacking = msgspec.structs.replace(ANY_CLIENT, lacks=frozenset({Lack.REDELIVERY_COUNT}))
    (*_, last) = translated(history(received(PLAIN)), ANY_CASE, lacking)
    assert isinstance(last, Received)
    assert last.redelivery_count is None


def test_history_in_the_suites_own_words_stays_the_same() -> None:
    events = history(received(at(BATCH, batch_index=0, batch_size=3)))
    assert translated(events, ANY_CASE, ANY_CLIENT) is events
