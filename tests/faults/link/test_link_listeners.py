"""Faults for connections to one listener, and what is held when its client ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assay_conformance.model.event import Closed, ClosedBy
from assay_conformance.model.fault import AtTime, Cut, CutHow, Direction, Drop, Fault, Hold, OnFrame, Refuse, Until
from assay_conformance.wire import CommandType

if TYPE_CHECKING:
    from tests.faults.conftest import Rig

if TYPE_CHECKING:
    from tests.faults.conftest import Rig

TO_BROKER, TO_CLIENT = Direction.TO_BROKER, Direction.TO_CLIENT
SECOND = "second"


def on_send(action: Drop | Hold, k: int = 1, until: Until | None = None) -> Fault:
    return Fault(trigger=OnFrame(command="SEND", direction=TO_BROKER, k=k), action=action, until=until or Until())


@pytest.fixture
def bench(rig: type[Rig]) -> Rig:
    """Connection 0 came to the first listener, connection 1 to the second."""
    bench = rig()
    bench.opened(1, listener=SECOND)
    return bench


def test_fault_of_a_listener_counts_only_frames_of_its_connections(bench: Rig) -> None:
    fault = bench.link.add(on_send(Drop(), k=2), SECOND)
    bench.send(0, 1, 2)
    bench.send(10, 11, 12, conn=1)
    assert (bench.link.fired[fault], bench.at_broker) == (1, [0, 1, 2, 10, 12])


def test_fault_without_a_listener_meets_every_connection(bench: Rig) -> None:
    bench.link.add(on_send(Drop(), k=2))
    bench.send(0)
    bench.send(10, conn=1)
    assert bench.at_broker == [0]


def test_fault_ends_at_a_frame_of_its_listener_only(bench: Rig) -> None:
    end = Until(frame=OnFrame(command="PING", direction=TO_BROKER))
    bench.link.add(on_send(Hold(), until=end), "")
    bench.send(0)
    bench.c2b(CommandType.PING, conn=1)
    assert bench.at_broker == []
    bench.c2b(CommandType.PING)
    assert bench.at_broker == [0]


def test_fault_at_a_time_strikes_connections_of_its_listener(bench: Rig) -> None:
    bench.link.add(Fault(trigger=AtTime(5), action=Cut(how=CutHow.RST)), SECOND)
    bench.at_ms(5)
    assert [conn for conn, _, _ in bench.closes] == [1]


def test_only_its_own_listener_refuses(bench: Rig) -> None:
    bench.link.add(Fault(trigger=AtTime(0), action=Refuse()), SECOND)
    bench.at_ms(0)
    assert [bench.opened(2), bench.opened(3, listener=SECOND)] == [True, False]


# --- a client that ended ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reset", [False, True])
def test_held_frame_of_a_dead_client_arrives_late_and_then_the_end(rig: type[Rig], reset: bool) -> None:
    bench = rig(on_send(Hold()), delivers_late=True)
    bench.send(0, 1)
    assert not bench.link.ended(0, ClosedBy.CLIENT, reset, 0)
    assert (bench.at_broker, bench.closes) == ([], [])
    bench.heal()
    assert (bench.at_broker, bench.closes) == ([0, 1], [(0, CutHow.FIN, False)])
    assert [(event.by, event.reset) for event in bench.of(Closed)] == [(ClosedBy.CLIENT, reset)]


def test_nothing_reaches_a_client_that_is_dead(rig: type[Rig]) -> None:
    bench = rig(on_send(Hold()), delivers_late=True)
    bench.send(0)
    bench.link.ended(0, ClosedBy.CLIENT, False, 0)
    bench.receipt(0)
    assert bench.at_client == []


def test_end_of_a_client_with_nothing_held_is_reported_at_once(rig: type[Rig]) -> None:
    assert rig(delivers_late=True).link.ended(0, ClosedBy.CLIENT, False, 0)


def test_held_frame_of_a_dead_client_is_lost_in_a_case(rig: type[Rig]) -> None:
    bench = rig(on_send(Hold()))
    bench.send(0)
    assert bench.link.ended(0, ClosedBy.CLIENT, False, 0)
    bench.heal()
    assert bench.at_broker == []
