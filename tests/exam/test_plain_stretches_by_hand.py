"""Breaches in the middle of what looks plain: of the whole history no more is said than without its plain stretches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from fuzz.plain import LEAST, Day, calm_day, said
from msgspec.structs import replace
from tests.exam.diaries import MS, Diary, Parcel, Sender, Taker

from assay_conformance.checks.plain import shortened
from assay_conformance.history.rereading import Held
from assay_conformance.model.event import Closed, ClosedBy, Completion, ErrorClass, Fate, Received, Sides, Stored
from assay_fixtures.reference.probe import FACTS


def test_a_day_on_which_all_goes_well_is_mostly_left_out() -> None:
    diary = Diary()
    one, taker, other = diary.company()
    for _ in range(5):
        diary.calm(one, 20, 5)
        diary.passed_on(other, taker)
        diary.now_ms += 100
        diary.ack(taker)
    day = diary.day()
    shorter = shortened(Held(day.events), day.case, FACTS, long=0, least=LEAST)
    assert shorter is not None
    assert len(shorter) < len(day.events) / 2
    assert said(day, shorter=True) == said(day, shorter=False) == {}


# --- connections ---


def _hears_nothing() -> Day:
    """A connection on which nobody has anything to do, for two minutes, and without a PING."""
    diary = Diary()
    one, _ = diary.producer(1, 1, "t"), diary.producer(2, 2, "u")
    diary.calm(one, 1_200, 100)
    return diary.day()


# --- producers ---


def _starts_elsewhere() -> Day:
    """All that one producer sends is in the stretch, under ids that do not begin with 0."""
    diary = Diary()
    one, other = diary.producer(1, 1, "t"), diary.producer(2, 2, "u")
    diary.calm(one)
    other.id = 7
    diary.calm(other, 5)
    diary.calm(one)
    return diary.day()


def _skips_an_id_behind_a_return() -> Day:
    diary = Diary()
    one, other = diary.producer(1, 1, "t"), diary.producer(2, 2, "u")
    diary.calm(other, 3)
    diary.add(Closed, conn=2, by=ClosedBy.BROKER)
    other.conn = 3
    diary.register(other, epoch=1)
    diary.calm(one)
    other.id += 5
    diary.calm(other, 5)
    diary.calm(one)
    return diary.day()


def _uses_ids_again_behind_a_return() -> Day:
    """Ids of the stretch, and there is nothing else of that producer in front of the return."""
    diary = Diary()
    one, other = diary.producer(1, 1, "t"), diary.producer(2, 2, "u")
    diary.calm(other, 3)
    diary.calm(one, 60)
    diary.calm(other, 20)
    diary.calm(one, 60)
    diary.add(Closed, conn=2, by=ClosedBy.BROKER)
    diary.now_ms += 100
    other.conn = 3
    diary.register(other, epoch=1)
    other.id -= 5
    diary.calm(other, 3)
    diary.calm(one, 60)
    return diary.day()


def _as_another(diary: Diary, parcel: Parcel, by: Sender) -> None:
    """A message leaves as one of another producer of its topic."""
    kept = {**parcel.payload, "meta": replace(parcel.payload["meta"], producer_name=by.name)}
    diary.send(parcel, producer_id=by.handle, **kept)
    diary.store(parcel, **kept)
    diary.receipt(parcel, producer_id=by.handle)
    diary.told(parcel)


def _leaves_as_anothers() -> Day:
    """Two producers of a topic send one message for each other, each in the other's turn."""
    diary = Diary()
    one, other = diary.producer(1, 1, "t"), diary.producer(2, 1, "t")
    diary.calm(one, 60)
    diary.calm(other, 10)
    diary.calm(one)
    mine, theirs = diary.ask(one), diary.ask(other)
    mine.sequence_id, theirs.sequence_id = theirs.sequence_id, mine.sequence_id
    _as_another(diary, mine, other)
    _as_another(diary, theirs, one)
    diary.calm(one)
    diary.calm(other, 3)
    diary.calm(one)
    return diary.day()


def _goes_on_behind_an_unanswered_send() -> Day:
    """All receipts behind it are ahead of its own, which never comes."""
    diary = Diary()
    one, other = diary.producer(1, 1, "t"), diary.producer(2, 2, "u")
    diary.sent(other)
    parcel = diary.ask(other)
    diary.send(parcel)
    diary.store(parcel)
    diary.told(parcel)
    diary.calm(one)
    diary.calm(other, 10)
    diary.now_ms += 900
    diary.calm(one, 60)
    return diary.day()


# --- permits ---


def _hand_over(diary: Diary, taker: Taker, parcels: list[Parcel]) -> None:
    """And acknowledge, and no permits are granted again."""
    for parcel in parcels:
        taker.taken = -1
        diary.acknowledge(taker, parcel, diary.hand_over(taker, parcel))
    taker.taken = 0


def _dispatched(diary: Diary, sender: Sender, taker: Taker, messages: int) -> list[Parcel]:
    parcels = [diary.sent(sender) for _ in range(messages)]
    for parcel in parcels:
        diary.dispatch(taker, parcel)
    return parcels


def _sends_beyond_permits() -> Day:
    """A FLOW is lost on its way, and in the stretch the broker does as if it had it."""
    diary = Diary()
    one, taker, other = diary.company()
    _hand_over(diary, taker, _dispatched(diary, other, taker, 10))
    diary.flow(taker, 10, sides=Sides.SENDER, fate=Fate.DROPPED)
    diary.now_ms += 100
    diary.ack(taker)
    diary.calm(one, 60, 20)
    parcels = _dispatched(diary, other, taker, 15)
    _hand_over(diary, taker, parcels[:10])
    diary.flow(taker, 10)
    _hand_over(diary, taker, parcels[10:] + _dispatched(diary, other, taker, 5))
    diary.flow(taker, 10)
    diary.now_ms += 100
    diary.ack(taker)
    diary.calm(one, 60, 20)
    return diary.day()


def _drops_one(diary: Diary, sender: Sender, taker: Taker) -> None:
    """It comes twice, and is handed over once."""
    parcel = diary.sent(sender)
    diary.taken(taker, parcel)
    diary.dispatch(taker, parcel, redelivery_count=1)
    diary.now_ms += 100
    diary.ack(taker)


def _withholds_what_came() -> Day:
    """A receive ends short while eight messages wait, and gets them the next time."""
    diary = Diary()
    one, taker, other = diary.company()
    _drops_one(diary, other, taker)
    diary.calm(one, 60, 50)
    asked = {"count": 20, "timeout_ms": 600}
    receive = diary.invoke("receive", taker.handle, args=asked)
    parcels = _dispatched(diary, other, taker, 8)
    diary.calm(one, 6, 100)
    diary.complete(receive, "receive", taker.handle, count=0)
    taker.taken = 2
    for parcel in parcels:
        diary.acknowledge(taker, parcel, diary.hand_over(taker, parcel))
    diary.passed_on(other, taker, 2)
    diary.now_ms += 100
    diary.ack(taker)
    diary.calm(one, 60, 50)
    return diary.day()


def _grants_less_than_was_taken() -> Day:
    """Eighteen of twenty are taken, ten are granted again, and for long nothing else."""
    diary = Diary()
    one, taker, other = diary.company()
    _drops_one(diary, other, taker)
    diary.calm(one, 60, 50)
    receive = diary.invoke("receive", taker.handle, args={"count": 20, "timeout_ms": 600})
    parcels = _dispatched(diary, other, taker, 18)
    taker.taken = -100
    deliveries = [diary.hand_over(taker, parcel) for parcel in parcels]
    diary.flow(taker, 10)
    diary.calm(one, 6, 100)
    diary.complete(receive, "receive", taker.handle, count=18)
    for parcel, delivery in zip(parcels, deliveries, strict=True):
        diary.acknowledge(taker, parcel, delivery)
    diary.now_ms += 20
    diary.ack(taker)
    diary.passed_on(other, taker, 1)
    diary.flow(taker, 10)
    diary.passed_on(other, taker, 1)
    diary.now_ms += 100
    diary.ack(taker)
    diary.calm(one, 60, 50)
    return diary.day()


def _grants_one_too_many() -> Day:
    """Eleven for ten, and later ten for eleven; long before, a message was dispatched late."""
    diary = Diary()
    one, taker, other = diary.company()
    diary.passed_on(other, taker, 9)
    diary.calm(one)
    late = diary.sent(other)
    diary.now_ms += 30
    diary.taken(taker, late)
    diary.now_ms += 100
    diary.ack(taker)
    diary.calm(one, 60, 20)
    parcels = _dispatched(diary, other, taker, 10)
    _hand_over(diary, taker, parcels)
    diary.flow(taker, 11)
    parcels = _dispatched(diary, other, taker, 11)
    _hand_over(diary, taker, parcels)
    diary.flow(taker, 10)
    diary.now_ms += 100
    diary.ack(taker)
    diary.calm(one, 60, 20)
    return diary.day()


# --- dispatch and delivery ---


def _passes_over_what_is_older() -> Day:
    """What was stored before the consumer came is dispatched behind what comes in the stretch."""
    diary = Diary()
    one, other = diary.producer(1, 1, "t"), diary.producer(3, 1, "u")
    older = [diary.sent(other) for _ in range(3)]
    taker = diary.consumer(2, 1, "u")
    diary.calm(one)
    diary.passed_on(other, taker)
    diary.now_ms += 90
    diary.ack(taker)
    diary.calm(one)
    for parcel in older:
        diary.taken(taker, parcel)
    diary.now_ms += 90
    diary.ack(taker)
    diary.calm(one)
    return diary.day()


def _changed(kind: type, change: Callable[[Any], Any]) -> Day:
    """A calm day on which one event says something else, at noon."""
    events = list[Any](calm_day().events)
    places = [place for place, event in enumerate(events) if type(event) is kind]
    noon = places[len(places) // 2]
    events[noon] = change(events[noon])
    return Day(calm_day().case, tuple(events))


def _gets_from_a_partition() -> Day:
    """Of a topic that has none."""
    return _changed(Received, lambda event: replace(event, message_id=replace(event.message_id, partition=3)))


def _ends_well_with_an_error() -> Day:
    return _changed(
        Completion, lambda event: replace(event, error=ErrorClass.QUEUE_FULL) if event.verb == "send" else event
    )


def _is_stored_under_a_key() -> Day:
    """Of a message that was sent without one."""
    return _changed(Stored, lambda event: replace(event, members=(replace(event.members[0], key="k"),)))


# --- acknowledgments ---


def _names_several_to_an_old_broker() -> Day:
    diary = Diary(version=11)
    one, taker, other = diary.company()
    diary.calm(one, 60)
    diary.passed_on(other, taker)
    diary.now_ms += 50
    diary.ack(taker)
    diary.calm(one, 60)
    return diary.day()


def _leaves_one_out() -> Day:
    """An ACK leaves without what the client had been told of before, as its answer says that comes behind it."""
    diary = Diary()
    one, taker, other = diary.company()
    diary.calm(one, 60)
    diary.passed_on(other, taker, 9)
    late = diary.sent(other)
    diary.dispatch(taker, late)
    delivery = diary.hand_over(taker, late)
    diary.now_ms += 10
    op, called_ns = diary.invoke("ack", 2, args={"messages": [delivery]}), round(diary.now_ms * MS)
    diary.now_ms += 60
    diary.ack(taker)
    diary.complete(op, "ack", 2, called_ns=called_ns)
    diary.now_ms += 55
    diary.ack(taker, late.id)
    diary.calm(one, 60)
    return diary.day()


def _leaves_out_what_is_acked_again() -> Day:
    """What is acknowledged twice, and for the second time leaves by itself, behind the stretch."""
    diary = Diary()
    one, taker, other = diary.company()
    again = diary.sent(other)
    diary.taken(taker, again)
    diary.now_ms += 100
    diary.ack(taker)
    diary.now_ms += 1
    diary.acknowledge(taker, again, 1)
    diary.calm(one, 60)
    diary.passed_on(other, taker)
    diary.now_ms += 50
    diary.ack(taker, *(id for id in taker.acked if id != again.id))
    diary.calm(one, 60, 4)
    diary.ack(taker, again.id)
    diary.calm(one, 60)
    return diary.day()


def _flushes_too_often_at_the_beginning() -> Day:
    """Three flushes in half an interval: two in front of the stretch, the third in it."""
    diary = Diary()
    one, taker, other = diary.company()
    diary.calm(one)
    parcel = diary.ask(one)
    diary.add(Closed, conn=9, by=ClosedBy.BROKER)
    for _ in range(2):
        diary.passed_on(other, taker, 1)
        diary.ack(taker)
        diary.now_ms += 8
    diary.send(parcel)
    diary.store(parcel)
    diary.receipt(parcel)
    diary.told(parcel)
    diary.calm(one, 20, 0.2)
    diary.passed_on(other, taker)
    diary.ack(taker)
    diary.calm(one, 60, 50)
    return diary.day()


def _flushes_too_often_at_the_end() -> Day:
    """The first in the stretch, two behind it."""
    diary = Diary()
    one, taker, other = diary.company()
    diary.calm(one)
    diary.passed_on(other, taker)
    diary.now_ms += 100
    diary.ack(taker)
    diary.calm(one, 60, 50)
    diary.passed_on(other, taker)
    diary.calm(one, 5, 1)
    diary.now_ms += 90
    diary.ack(taker)
    diary.calm(one, 12, 0.2)
    for _ in range(2):
        diary.passed_on(other, taker, 1)
        diary.now_ms += 8
        diary.ack(taker)
    diary.calm(one, 60, 50)
    return diary.day()


BREACHES: Final[tuple[tuple[Callable[[], Day], str], ...]] = (
    (_hears_nothing, "connection.closes-silent-connection"),
    (_starts_elsewhere, "dedup.resumes-after-last-sequence-id"),
    (_skips_an_id_behind_a_return, "ordering.sequence-ids-increase-by-one"),
    (_uses_ids_again_behind_a_return, "ordering.sequence-ids-increase-by-one"),
    (_leaves_as_anothers, "ordering.sequence-ids-increase-by-one"),
    (_goes_on_behind_an_unanswered_send, "resend.receipt-ahead-closes-connection"),
    (_sends_beyond_permits, "flow.permits-count-messages"),
    (_withholds_what_came, "flow.dropped-message-returns-permit"),
    (_grants_less_than_was_taken, "flow.dropped-message-returns-permit"),
    (_grants_one_too_many, "flow.permits-within-queue"),
    (_passes_over_what_is_older, "ordering.keeps-send-order"),
    (_gets_from_a_partition, "delivery.successful-send-is-delivered"),
    (_is_stored_under_a_key, "robustness.edge-case-metadata-round-trip"),
    (_ends_well_with_an_error, "flow.full-queue-blocks-or-fails"),
    (_names_several_to_an_old_broker, "connection.negotiated-version"),
    (_leaves_one_out, "ack.flush-sends-one-command"),
    (_leaves_out_what_is_acked_again, "ack.flush-sends-one-command"),
    (_flushes_too_often_at_the_beginning, "ack.flushed-in-time"),
    (_flushes_too_often_at_the_end, "ack.flushed-in-time"),
)


@pytest.mark.parametrize(("build", "requirement"), BREACHES, ids=[build.__name__[1:] for build, _ in BREACHES])
def test_a_breach_is_told_as_of_the_whole(build: Callable[[], Day], requirement: str) -> None:
    day = build()
    whole = said(day, shorter=False)
    assert requirement in whole
    assert said(day, shorter=True) == whole
