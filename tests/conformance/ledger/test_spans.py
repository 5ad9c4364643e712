"""Latencies over a run: spans of a round width, and a sample that their numbers alone choose."""

from __future__ import annotations

import pytest

from assay_conformance.ledger.collection import Rows
from assay_conformance.ledger.rows import Attempt, Delivery
from assay_conformance.ledger.spans import MOST_SPANS, Span, Spans, every, is_taken, spans, width_us
from assay_conformance.ledger.tables import NONE


def sent(seq: int, t: int, attempt: int = 0) -> Attempt:
    return Attempt(0, seq, NONE, t, 10, 7, attempt)


def given(seq: int, t: int, sub: int = 0) -> Delivery:
    return Delivery(sub, 0, seq, 0, seq, NONE, 1, seq, NONE, 0, t, 7)


def test_a_message_counts_from_its_first_attempt_to_each_subscriptions_first_delivery() -> None:
    rows = Rows(
        attempts=(sent(0, 1_000, attempt=1), sent(0, 500)),
        deliveries=(given(0, 900), given(0, 700), given(0, 2_000, sub=1)),
    )
    width = width_us(500, 1_000)
    assert spans(rows) == Spans(width, (Span(500 // width, 2, 200, 1_500, 1_500),))


def test_what_was_never_delivered_or_never_sent_is_in_no_span() -> None:
    rows = Rows(attempts=(sent(0, 10), sent(1, 20)), deliveries=(given(1, 50), given(9, 60)))
    assert [(span.latencies, span.most_us) for span in spans(rows).spans] == [(1, 30)]


def test_a_ledger_without_attempts_has_no_spans() -> None:
    assert spans(Rows(deliveries=(given(0, 10),))) == Spans()


@pytest.mark.parametrize("length_us", [0, 1, 119, 120, 6_000_000, 599_999_999, 86_400_000_000])
def test_spans_are_as_many_as_are_drawn_at_most_and_not_few(length_us: int) -> None:
    width = width_us(7, 7 + length_us)
    assert length_us // width <= MOST_SPANS
    assert length_us // width >= MOST_SPANS // 3 or width == 1


@pytest.mark.parametrize("streams", [1, 10, 1_000])
def test_of_many_messages_about_one_bucket_in_so_many_is_taken(streams: int) -> None:
    one_in = every(20_000_000)
    assert one_in == 100
    buckets = 200_000 // streams
    taken = [(stream, b) for stream in range(streams) for b in range(buckets) if is_taken(stream, b * 64, one_in)]
    assert 1_900 < len(taken) < 2_100
    tenths = [sum(b * 10 // buckets == tenth for _, b in taken) for tenth in range(10)]
    assert max(tenths) < 1.5 * min(tenths)


def test_a_bucket_is_taken_whole_or_not_at_all() -> None:
    taken = [is_taken(3, seq, 7) for seq in range(64 * 100)]
    assert all(len(set(taken[begin : begin + 64])) == 1 for begin in range(0, len(taken), 64))
    assert len(set(taken)) == 2
