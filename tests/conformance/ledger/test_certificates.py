"""Certificates say of a row what lies before it."""

from __future__ import annotations

import pytest

from assay_conformance.ledger.certificates import MOST_GAP, Certified, of_consumer, of_outcomes
from assay_conformance.ledger.rows import Ack, Delivery, Outcome
from assay_conformance.ledger.tables import NONE, AckKind, Result


def got(*seqs: int, key: int = NONE, stream: int = 1) -> list[Delivery]:
    """Deliveries of one consumer, 10 µs apart."""
    return [Delivery(0, 0, pos, stream, seq, key, 1, seq, NONE, 0, 10 * pos, 0) for pos, seq in enumerate(seqs)]


def said(seq: int, word: AckKind, t: int, t_done: int | None = None) -> Ack:
    return Ack(0, 0, 1, seq, 1, seq, NONE, word, t, t_done)


def heard(*pairs: tuple[int, int], attempt: int = 0) -> list[Outcome]:
    """(seq, entry) of ok outcomes, as they were heard."""
    return [Outcome(1, seq, 1, entry, NONE, 0, Result.OK, attempt) for seq, entry in pairs]


@pytest.mark.parametrize(
    ("seqs", "gaps"),
    [
        ((0, 1, 2), [1, 1, 1]),
        ((0, 5, 2, 6), [1, 5, -3, 1]),
        ((0, 2, 1, 3), [1, 2, -1, 1]),
        ((0, 1, 2, 1, 2, 3), [1, 1, 1, 1, 1, 1]),
        ((1 << 40,), [MOST_GAP]),
    ],
)
def test_a_gap_is_the_step_from_the_greatest_before_and_of_copies_one(seqs: tuple[int, ...], gaps: list[int]) -> None:
    assert [row.gap for row in of_consumer(got(*seqs))] == gaps


def test_keys_are_ordered_apart_from_each_other() -> None:
    rows = [*got(0, 4, key=1), *got(2, key=2), *got(3, key=1)]
    assert [row.kgap for row in of_consumer(rows)] == [1, 4, 3, -1]


def test_what_comes_again_was_got_or_acknowledged_before() -> None:
    acks = [said(1, AckKind.ACK, 11, 12), said(2, AckKind.ACK, 21, 999)]
    assert [row.again for row in of_consumer(got(1, 2, 1, 2), acks)] == [0, 0, 2, 1]


def test_a_wait_begins_with_the_last_refusal_and_ends_with_the_delivery() -> None:
    acks = [said(1, AckKind.NACK, 2), said(1, AckKind.NACK, 4)]
    assert [row.wait for row in of_consumer(got(1, 1, 1), acks)] == [None, 6, None]


def test_what_is_said_in_the_microsecond_of_a_delivery_is_said_of_it_and_not_before_it() -> None:
    acks = [said(1, AckKind.NACK, 10), said(2, AckKind.ACK, 20, 30)]
    rows = [row._replace(t=10 * (1 + place // 2)) for place, row in enumerate(got(1, 1, 2, 1, 2))]
    certified = list(of_consumer([*rows[:3], *(row._replace(t=30) for row in rows[3:])], acks))
    assert [(row.again, row.wait) for row in certified] == [(0, None), (1, None), (0, None), (1, 20), (1, None)]


def test_a_message_with_a_time_waits_from_that_time() -> None:
    assert [row.wait for row in of_consumer(got(0, 1), due={(1, 0): 4, (1, 1): 4})] == [-4, 6]


def test_deliveries_without_a_past_have_the_certificates_of_a_good_row() -> None:
    assert list(of_consumer(got(0))) == [Certified(1, 1, 0, None)]


@pytest.mark.parametrize(
    ("outcomes", "ords"),
    [
        (heard((0, 3), (1, 4), (2, 9)), [1, 1, 1]),
        (heard((0, 4), (1, 3), (2, 9)), [1, -1, 1]),
        (heard((0, 4), (1, 4)), [1, -1]),
        (heard((1, 10), (0, 5), (3, 7)), [1, 0, -1]),
        (heard((0, 4)) + heard((0, 9), attempt=1) + heard((1, 5)), [1, 1, 1]),
        ([*heard((0, 4)), Outcome(1, 1, -1, -1, NONE, 0, Result.OK), *heard((2, 5))], [1, 1, 1]),
    ],
)
def test_ids_grow_with_the_numbers_of_first_attempts(outcomes: list[Outcome], ords: list[int]) -> None:
    assert list(of_outcomes(outcomes)) == ords
