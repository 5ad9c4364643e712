"""Access modes of producers (PIP-68): who gets a topic, who waits, who is thrown out, and the topic's epoch."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.wire import Frame
from assay_conformance.wire.pulsar_pb2 import CommandProducerSuccess, ProducerAccessMode, ServerError

SHARED, EXCLUSIVE, WAITS, FENCES = (
    ProducerAccessMode.Shared,
    ProducerAccessMode.Exclusive,
    ProducerAccessMode.WaitForExclusive,
    ProducerAccessMode.ExclusiveWithFencing,
)


def _bench(*modes: ProducerAccessMode) -> Bench:
    """Producers p0, p1, ... on connections of their own."""
    bench = Bench()
    for conn, mode in enumerate(modes):
        bench.connect(conn)
        _ask(bench, conn, mode)
    return bench


def _ask(bench: Bench, conn: int, mode: ProducerAccessMode, **fields: Any) -> Frame:
    return bench.produce(conn, name=f"p{conn}", producer_access_mode=mode, **fields)


def _answers(bench: Bench, conn: int) -> list[CommandProducerSuccess]:
    return [frame.body for frame in bench.take(conn) if frame.type == C.PRODUCER_SUCCESS]


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        (SHARED, EXCLUSIVE, ServerError.ProducerFenced),
        (EXCLUSIVE, SHARED, ServerError.ProducerBusy),
        (EXCLUSIVE, EXCLUSIVE, ServerError.ProducerFenced),
        (WAITS, SHARED, ServerError.ProducerBusy),
        (WAITS, EXCLUSIVE, ServerError.ProducerFenced),
        (FENCES, SHARED, ServerError.ProducerBusy),
        (FENCES, EXCLUSIVE, ServerError.ProducerFenced),
    ],
)
def test_second_producer_is_refused(first: ProducerAccessMode, second: ProducerAccessMode, error: ServerError) -> None:
    bench = _bench(first)
    bench.connect(1)
    assert _ask(bench, 1, second).body.error == error


def test_refused_producer_may_ask_again_when_the_first_is_gone() -> None:
    bench = _bench(EXCLUSIVE, EXCLUSIVE)
    bench.leave(0)
    assert _ask(bench, 1, EXCLUSIVE).type == C.PRODUCER_SUCCESS


@pytest.mark.parametrize("first", [SHARED, EXCLUSIVE, WAITS, FENCES])
def test_waiting_producer_is_told_so_and_answered_again_when_its_turn_comes(first: ProducerAccessMode) -> None:
    bench = _bench(first)
    bench.connect(1)
    assert not _ask(bench, 1, WAITS).body.producer_ready
    bench.request(C.CLOSE_PRODUCER, 0, producer_id=1)
    ready = _answers(bench, 1)
    assert [answer.producer_ready for answer in ready] == [True]


def test_waiting_producer_is_told_the_last_id_of_its_name_at_once() -> None:
    bench = Bench(deduplication=True)
    bench.connect(0)
    bench.produce(0, name="p1")
    bench.publish(7, name="p1")
    bench.connect(1)
    told = _ask(bench, 1, WAITS).body
    assert (told.producer_ready, told.last_sequence_id) == (False, 7)


def test_waiting_producer_waits_for_the_last_shared_one() -> None:
    bench = _bench(SHARED, SHARED, WAITS)
    bench.leave(0)
    assert _answers(bench, 2) == []
    bench.leave(1)
    assert len(_answers(bench, 2)) == 1


def test_waiting_producers_take_turns_in_their_order() -> None:
    bench = _bench(EXCLUSIVE, WAITS, WAITS)
    bench.leave(0)
    assert (len(_answers(bench, 1)), len(_answers(bench, 2))) == (1, 0)
    bench.leave(1)
    assert len(_answers(bench, 2)) == 1


def test_shared_producer_does_not_pass_one_that_waits() -> None:
    bench = _bench(SHARED, WAITS)
    bench.connect(2)
    assert _ask(bench, 2, SHARED).body.error == ServerError.ProducerBusy


def test_closed_while_waiting_never_gets_its_turn() -> None:
    bench = _bench(EXCLUSIVE, WAITS)
    assert bench.ask(C.CLOSE_PRODUCER, 1, producer_id=1).type == C.SUCCESS
    bench.leave(0)
    assert bench.take(1) == []


def test_gone_while_waiting_makes_room_for_the_next() -> None:
    bench = _bench(EXCLUSIVE, WAITS, WAITS)
    bench.leave(1)
    bench.leave(0)
    assert len(_answers(bench, 2)) == 1


def test_send_while_waiting_ends_the_connection() -> None:
    bench = _bench(EXCLUSIVE, WAITS)
    bench.publish(0, conn=1)
    assert (bench.closed, bench.ids) == ([1], [])


# --- fencing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("others", [(SHARED, SHARED), (EXCLUSIVE,), (WAITS,), (FENCES,)])
def test_fencing_takes_the_topic_from_whoever_has_it(others: tuple[ProducerAccessMode, ...]) -> None:
    bench = _bench(*others)
    conn = len(others)
    bench.connect(conn)
    assert _ask(bench, conn, FENCES).body.producer_ready
    bench.connect(9)
    assert _ask(bench, 9, SHARED).body.error == ServerError.ProducerBusy


def test_fenced_producer_is_not_told_and_its_next_send_ends_its_connection() -> None:
    bench = _bench(SHARED, FENCES)
    assert bench.take(0) == []
    bench.publish(0, conn=0)
    assert (bench.closed, bench.ids) == ([0], [])


def test_waiting_producers_are_fenced_out() -> None:
    bench = _bench(EXCLUSIVE, WAITS, FENCES)
    assert [frame.body.error for frame in bench.take(1)] == [ServerError.ProducerFenced]


def test_closing_producer_that_is_fenced_has_its_answer() -> None:
    bench = _bench(SHARED)
    bench.step("hold_store", topic="t")
    bench.publish(0, name="p0")
    bench.request(C.CLOSE_PRODUCER, producer_id=1)
    bench.connect(1)
    _ask(bench, 1, FENCES)
    assert bench.kinds() == ["SUCCESS"]


# --- the topic's epoch ------------------------------------------------------------------------------------------------


def test_epoch_moves_on_with_every_exclusive_producer() -> None:
    bench = Bench()
    epochs = []
    for conn, mode in enumerate([EXCLUSIVE, WAITS, FENCES]):
        bench.connect(conn)
        epochs.append(_ask(bench, conn, mode).body.topic_epoch)
        bench.leave(conn)
    assert epochs == [0, 1, 2]


def test_shared_producers_know_no_epoch_until_there_is_one() -> None:
    bench = Bench()
    bench.connect()
    assert not _ask(bench, 0, SHARED).body.HasField("topic_epoch")
    bench.request(C.CLOSE_PRODUCER, producer_id=1)
    _ask(bench, 0, EXCLUSIVE)
    bench.request(C.CLOSE_PRODUCER, producer_id=1)
    assert _ask(bench, 0, SHARED).body.topic_epoch == 0


def test_exclusive_producer_that_comes_back_keeps_its_epoch() -> None:
    bench = _bench(EXCLUSIVE)
    bench.leave(0)
    bench.connect(1)
    assert _ask(bench, 1, EXCLUSIVE, topic_epoch=0).body.topic_epoch == 0


@pytest.mark.parametrize("mode", [EXCLUSIVE, WAITS, FENCES])
def test_producer_of_an_epoch_that_is_over_is_fenced(mode: ProducerAccessMode) -> None:
    bench = _bench(EXCLUSIVE)
    bench.leave(0)
    bench.connect(1)
    _ask(bench, 1, EXCLUSIVE)
    bench.leave(1)
    bench.connect(2)
    assert _ask(bench, 2, mode, topic_epoch=0).body.error == ServerError.ProducerFenced


def test_fenced_newcomer_leaves_the_topic_free() -> None:
    bench = _bench(EXCLUSIVE)
    bench.leave(0)
    bench.connect(1)
    _ask(bench, 1, EXCLUSIVE)
    bench.leave(1)
    bench.connect(2)
    _ask(bench, 2, EXCLUSIVE, topic_epoch=0)
    assert _ask(bench, 2, EXCLUSIVE).body.topic_epoch == 2


@pytest.mark.parametrize("step", ["unload", "restart"])
def test_epoch_outlives_the_load_of_a_topic(step: str) -> None:
    bench = _bench(EXCLUSIVE)
    bench.step(step, **({"topic": "t"} if step == "unload" else {}))
    bench.connect(1)
    assert _ask(bench, 1, EXCLUSIVE).body.topic_epoch == 1


# --- what happens to a topic meanwhile --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("unload", ServerError.ServiceNotReady),
        ("terminate", ServerError.TopicTerminatedError),
        ("delete", ServerError.TopicNotFound),
    ],
)
def test_waiting_producer_learns_what_became_of_the_topic(step: str, error: ServerError) -> None:
    bench = _bench(EXCLUSIVE, WAITS)
    bench.take(1)
    bench.step(step, topic="t")
    assert [frame.body.error for frame in bench.take(1)] == [error]
