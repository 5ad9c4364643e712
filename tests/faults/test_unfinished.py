"""What all connections hold of frames that are not whole is bounded, and every frame that is sent on becomes whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay_faults.unfinished import Unfinished

PATIENCE_NS = 10


class Connection:
    def __init__(self) -> None:
        self.waits = False

    def hold(self, _reason: str, /) -> None:
        self.waits = True

    def release(self, _reason: str, /) -> None:
        self.waits = False


def begun(most_bytes: int, *held: int) -> tuple[Unfinished[Connection], list[Connection]]:
    """Connections that hold so much each, the first since the longest."""
    unfinished: Unfinished[Connection] = Unfinished(most_bytes, PATIENCE_NS)
    connections = [Connection() for _ in held]
    for connection, count in zip(connections, held, strict=True):
        unfinished.holds(connection, count, 0, begun=True)
    return unfinished, connections


def waiting(connections: list[Connection]) -> list[bool]:
    return [connection.waits for connection in connections]


def test_below_the_total_nobody_waits() -> None:
    _, connections = begun(100, 50, 50)
    assert waiting(connections) == [False, False]


def test_what_comes_beyond_the_total_waits_until_there_is_room() -> None:
    unfinished, connections = begun(100, 50, 40, 20)
    assert waiting(connections) == [False, False, True]
    unfinished.holds(connections[1], 0, 1, begun=True)
    assert waiting(connections) == [False, False, False]


def test_the_frame_that_began_first_is_read_whatever_it_holds() -> None:
    unfinished, connections = begun(100, 60, 60)
    unfinished.holds(connections[0], 90, 1, begun=False)
    assert waiting(connections) == [False, True]
    unfinished.holds(connections[0], 0, 2, begun=True)
    assert waiting(connections) == [False, False]


def test_one_that_goes_on_with_its_next_frame_is_behind_those_that_began_before() -> None:
    unfinished, connections = begun(100, 60, 60)
    unfinished.holds(connections[0], 70, 1, begun=True)
    assert waiting(connections) == [True, False]


def test_one_that_stands_still_while_others_wait_is_to_be_ended_and_the_others_go_on() -> None:
    unfinished, connections = begun(100, 60, 30, 60)
    unfinished.holds(connections[1], 31, PATIENCE_NS - 1, begun=False)
    assert unfinished.next_deadline_ns() == PATIENCE_NS
    assert unfinished.stalled(PATIENCE_NS - 1) == []
    assert unfinished.stalled(PATIENCE_NS) == [connections[0]]
    unfinished.gone(connections[0], PATIENCE_NS)
    assert waiting(connections) == [False, False, False]


def test_nobody_is_ended_for_standing_still_where_nobody_waits() -> None:
    unfinished, _ = begun(100, 60)
    assert (unfinished.next_deadline_ns(), unfinished.stalled(10**9)) == (None, [])


def test_one_that_was_held_is_not_taken_for_one_that_stands_still() -> None:
    unfinished, connections = begun(100, 90, 90)
    unfinished.gone(connections[0], PATIENCE_NS)
    unfinished.holds(connections[0], 50, PATIENCE_NS, begun=True)
    assert unfinished.stalled(PATIENCE_NS + 1) == []


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60), st.booleans()), max_size=60))
def test_somebody_is_always_read_and_nobody_waits_below_the_total(steps: list[tuple[int, int, bool]]) -> None:
    unfinished: Unfinished[Connection] = Unfinished(100, PATIENCE_NS)
    connections, held = [Connection() for _ in range(5)], [0] * 5
    for now_ns, (number, count, whole) in enumerate(steps):
        if connections[number].waits:
            continue
        held[number] = count
        unfinished.holds(connections[number], count, now_ns, begun=whole)
        assert unfinished.total_bytes == sum(held)
        if sum(held) <= 100:
            assert not any(waiting(connections))
        else:
            assert not all(one.waits for one, bytes_ in zip(connections, held, strict=True) if bytes_)
