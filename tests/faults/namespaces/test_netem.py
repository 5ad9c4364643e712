"""What packets meet in one direction, in virtual time and with luck that is told."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import pytest

from assay_conformance.model.outside import Shape
from assay_faults.namespaces.netem import OVERTAKEN_MS, Netem

MS = 1_000_000


def netem(shape: Shape, *draws: float) -> Netem:
    """The numbers are drawn in turn; whoever draws more than were told breaks the test."""
    numbers: Iterator[float] = iter(draws)
    made = Netem(lambda: next(numbers))
    made.shape = shape
    return made


def arrivals(through: Netem, packets: Iterable[bytes], every_ms: int = 0) -> list[tuple[int, bytes]]:
    """Packets enter so far apart; what arrives, and when, in ms."""
    for number, packet in enumerate(packets):
        through.offer(packet, number * every_ms * MS)
    arrived = []
    while (due_ns := through.next_ns()) is not None:
        arrived += [(due_ns // MS, packet) for packet in through.due(due_ns)]
    return arrived


def test_unshaped_packets_arrive_at_once() -> None:
    assert arrivals(netem(Shape()), [b"a", b"b"]) == [(0, b"a"), (0, b"b")]


def test_delayed_packets_are_all_under_way_for_as_long() -> None:
    assert arrivals(netem(Shape(delay_ms=30)), [b"a", b"b"], every_ms=10) == [(30, b"a"), (40, b"b")]


def test_jitter_lengthens_and_shortens_the_way() -> None:
    assert arrivals(netem(Shape(delay_ms=30, jitter_ms=10), 0.0, 1.0), [b"a", b"b"]) == [(20, b"a"), (40, b"b")]


def test_jitter_changes_no_order() -> None:
    assert arrivals(netem(Shape(delay_ms=30, jitter_ms=10), 1.0, 0.0), [b"a", b"b"]) == [(40, b"a"), (40, b"b")]


def test_jitter_greater_than_the_delay_sends_nothing_back_in_time() -> None:
    assert arrivals(netem(Shape(delay_ms=5, jitter_ms=50), 0.0), [b"a"]) == [(0, b"a")]


def test_lost_packets_do_not_arrive() -> None:
    through = netem(Shape(loss=0.5), 0.4, 0.6)
    assert arrivals(through, [b"a", b"b"]) == [(0, b"b")]
    assert (through.counts.lost, through.counts.passed) == (1, 1)


def test_doubled_packets_arrive_twice() -> None:
    through = netem(Shape(duplicate=0.5), 0.4, 0.6)
    assert arrivals(through, [b"a", b"b"]) == [(0, b"a"), (0, b"a"), (0, b"b")]
    assert through.counts.doubled == 1


def test_overtaken_packets_arrive_behind_those_that_follow() -> None:
    through = netem(Shape(reorder=0.5), 0.4, 0.6)
    assert arrivals(through, [b"a", b"b"]) == [(0, b"b"), (OVERTAKEN_MS, b"a")]
    assert through.counts.overtaken == 1


def test_damaged_packets_differ_in_one_bit() -> None:
    through = netem(Shape(corrupt=0.5), 0.4, 0.5)
    assert arrivals(through, [b"\0\0"]) == [(0, b"\0\1")]
    assert through.counts.damaged == 1


def test_packets_leave_no_faster_than_the_rate() -> None:
    packets = [bytes(1_000)] * 3
    assert [at_ms for at_ms, _ in arrivals(netem(Shape(rate_kb_s=100)), packets)] == [10, 20, 30]


def test_a_line_that_was_idle_owes_nothing() -> None:
    packets = [bytes(1_000)] * 2
    assert [at_ms for at_ms, _ in arrivals(netem(Shape(rate_kb_s=100)), packets, every_ms=50)] == [10, 60]


def test_partition_lets_nothing_in() -> None:
    through = netem(Shape())
    through.partitioned = True
    assert arrivals(through, [b"a"]) == []
    assert through.counts.blocked == 1


def test_partition_catches_what_is_under_way() -> None:
    through = netem(Shape(delay_ms=10))
    through.offer(b"a", 0)
    through.partitioned = True
    assert through.due(10 * MS) == []
    assert (through.counts.blocked, through.counts.passed) == (1, 0)


@pytest.mark.parametrize("probability", [0.05, 0.5])
def test_what_happens_is_as_likely_as_it_was_told(probability: float) -> None:
    through = Netem(random.Random(1).random)
    through.shape = Shape(loss=probability)
    arrivals(through, [b"a"] * 20_000)
    assert abs(through.counts.lost / 20_000 - probability) < 0.01


def test_the_same_luck_hits_the_same_packets() -> None:
    def told() -> list[tuple[int, bytes]]:
        through = Netem(random.Random(7).random)
        through.shape = Shape(delay_ms=5, jitter_ms=3, loss=0.1, duplicate=0.1, reorder=0.1, corrupt=0.1)
        return arrivals(through, [bytes((number,)) for number in range(200)])

    assert told() == told()
