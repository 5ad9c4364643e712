"""Order: what overtakes what, where several faults meet, and what a cut takes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assay_conformance.model.event import ClosedBy
from assay_conformance.model.fault import (
    Action,
    Corrupt,
    Cut,
    CutHow,
    Delay,
    Direction,
    Drop,
    Duplicate,
    Fault,
    Hold,
    Inject,
    OnFrame,
    Part,
    Reorder,
    Resegment,
    Rewrite,
    Truncate,
    Until,
)
from assay_conformance.wire import CommandType, Frame
from assay_faults.connection import Connection

if TYPE_CHECKING:
    from tests.faults.conftest import Rig

TO_BROKER, TO_CLIENT = Direction.TO_BROKER, Direction.TO_CLIENT


def send(k: int, action: Action, until: Until | None = None) -> Fault:
    trigger = OnFrame(command="SEND", direction=TO_BROKER, k=k)
    return Fault(trigger=trigger, action=action, until=until or Until())


def receipt(k: int, action: Action) -> Fault:
    return Fault(trigger=OnFrame(command="SEND_RECEIPT", direction=TO_CLIENT, k=k), action=action)


def test_held_frame_does_not_hold_the_other_direction(rig: type[Rig]) -> None:
    bench = rig(send(1, Hold()))
    bench.send(0)
    bench.receipt(5)
    assert (bench.at_broker, bench.at_client) == ([], [5])


def test_held_frame_does_not_hold_other_connections(rig: type[Rig]) -> None:
    bench = rig(send(1, Hold()))
    bench.opened(1)
    bench.send(0)
    bench.send(1, conn=1)
    assert bench.at_broker == [1]


def test_overtaken_frame_still_waits_behind_a_holding_one(rig: type[Rig]) -> None:
    bench = rig(send(1, Hold(overtake=True), Until(step=1)), send(2, Hold(), Until(step=2)))
    bench.send(0, 1, 2)
    bench.step(1)
    assert bench.at_broker == [0]
    bench.step(2)
    assert bench.at_broker == [0, 1, 2]


def test_released_frame_waits_for_the_one_held_before_it(rig: type[Rig]) -> None:
    bench = rig(send(1, Hold(), Until(step=2)), send(2, Hold(), Until(step=1)))
    bench.send(0, 1)
    bench.step(1)
    assert bench.at_broker == []
    bench.step(2)
    assert bench.at_broker == [0, 1]


def test_shorter_delay_does_not_overtake_a_longer_one(rig: type[Rig]) -> None:
    bench = rig(send(1, Delay(9)), send(2, Delay(1)))
    bench.send(0, 1)
    bench.at_ms(8)
    assert bench.at_broker == []
    bench.at_ms(9)
    assert bench.at_broker == [0, 1]


def test_frame_sent_while_others_are_released_comes_behind_them(rig: type[Rig]) -> None:
    bench = rig(send(1, Hold(), Until(step=0)))
    bench.send(0, 1, 2)
    bench.broker = lambda frame: bench.send(9) if frame.body.sequence_id == 0 else None
    bench.step(0)
    assert bench.at_broker == [0, 1, 2, 9]


def test_broker_is_never_called_from_within_its_own_call(rig: type[Rig]) -> None:
    until = Until(frame=OnFrame(command="SEND_RECEIPT", direction=TO_CLIENT))
    bench = rig(send(1, Hold(overtake=True), until))
    depth, deepest = 0, 0

    def broker(frame: Frame) -> None:
        nonlocal depth, deepest
        depth += 1
        deepest = max(deepest, depth)
        bench.receipt(frame.body.sequence_id)
        depth -= 1

    bench.broker = broker
    bench.send(0, 1)
    assert (bench.at_broker, deepest) == ([1, 0], 1)


def test_busy_broker_is_told_nothing_until_its_call_is_over(rig: type[Rig]) -> None:
    bench = rig(receipt(1, Cut()))
    with bench.link.busy():
        bench.receipt(0, 1)
        assert (bench.at_client, bench.closes) == ([0], [])
    assert bench.closes == [(0, CutHow.RST, False)]


# Two faults on SEND 1 of 0, 1, 2, in plan order, and what arrives.
PAIRS: list[tuple[Action, Action, list[int]]] = [
    (Drop(), Duplicate(), [0, 2]),
    (Duplicate(), Drop(), [0, 2]),
    (Rewrite({"sequence_id": 8}), Duplicate(), [0, 8, 8, 2]),
    (Rewrite({"sequence_id": 8}), Rewrite({"sequence_id": 7}), [0, 7, 2]),
    (Duplicate(), Cut(), [0, 1, 1]),
    (Cut(), Duplicate(), [0, 1]),
    (Cut(before=True), Drop(), [0]),
    (Drop(), Cut(), [0]),
    (Reorder(), Duplicate(), [0, 2, 1, 1]),
    (Truncate(3), Duplicate(), [0]),
    (Corrupt(part=Part.COMMAND), Rewrite({"sequence_id": 8}), [0, 2]),
]


@pytest.mark.parametrize(("first", "second", "arrived"), PAIRS, ids=[f"{row[0]} {row[1]}" for row in PAIRS])
def test_two_faults_apply_in_plan_order(rig: type[Rig], first: Action, second: Action, arrived: list[int]) -> None:
    bench = rig(send(2, first), send(2, second))
    bench.send(0, 1, 2)
    assert bench.at_broker == arrived


def test_cut_in_front_of_a_damaged_frame_lets_none_of_it_pass(rig: type[Rig]) -> None:
    bench = rig(send(1, Corrupt()), send(1, Cut(before=True)))
    bench.send(0)
    assert (bench.at_broker, bench.pieces[TO_BROKER]) == ([], [])


def test_fault_that_found_nothing_to_act_on_has_no_receipt(rig: type[Rig]) -> None:
    bench = rig(send(1, Drop()), send(1, Duplicate()))
    bench.send(0)
    assert bench.link.fired == [1, 0]


def test_dropped_frame_still_counts_for_later_faults(rig: type[Rig]) -> None:
    bench = rig(send(1, Drop()), send(2, Duplicate()))
    bench.send(0, 1, 2)
    assert bench.at_broker == [1, 1, 2]


def test_injection_takes_the_place_of_a_dropped_frame(rig: type[Rig]) -> None:
    bench = rig(send(1, Drop()), send(1, Inject(command="PING", direction=TO_BROKER)))
    bench.send(0)
    assert [frame.type for frame in bench.frames[TO_BROKER]] == [CommandType.PING]


def test_injected_frame_waits_behind_held_ones(rig: type[Rig]) -> None:
    fields: dict[str, int | str | bool] = {"producer_id": 0, "sequence_id": 77}
    inject = Inject(command="SEND_RECEIPT", fields=fields)
    bench = rig(receipt(1, Hold()), send(1, inject))
    bench.receipt(0)
    bench.send(0)
    assert bench.at_client == []
    bench.heal()
    assert bench.at_client == [0, 77]


def test_cut_takes_held_frames_with_it(rig: type[Rig]) -> None:
    bench = rig(receipt(1, Hold()), receipt(3, Cut()))
    bench.receipt(0, 1, 2)
    bench.heal()
    assert bench.at_client == []
    assert bench.closes == [(0, CutHow.RST, False)]


def test_cut_waits_for_delayed_frames_before_it(rig: type[Rig]) -> None:
    bench = rig(receipt(1, Delay(4)), receipt(2, Cut()))
    bench.receipt(0, 1, 2)
    assert bench.closes == []
    bench.at_ms(4)
    assert bench.at_client == [0, 1]
    assert bench.closes == [(0, CutHow.RST, False)]


def test_abrupt_cut_waits_for_nothing(rig: type[Rig]) -> None:
    bench = rig(receipt(1, Delay(4)), receipt(2, Cut(abrupt=True)))
    bench.receipt(0, 1)
    bench.at_ms(4)
    assert bench.at_client == []
    assert bench.closes == [(0, CutHow.RST, True)]


def test_cut_waits_for_pieces_before_it(rig: type[Rig]) -> None:
    bench = rig(send(1, Resegment(50, gap_ms=1)), send(1, Cut()))
    bench.send(0)
    assert bench.closes == []
    bench.at_ms(1)
    assert len(b"".join(bench.pieces[TO_BROKER])) > 50
    assert bench.closes == [(0, CutHow.RST, False)]


def test_truncated_frame_leaves_in_pieces_too(rig: type[Rig]) -> None:
    bench = rig(send(1, Resegment(4)), send(1, Truncate(10)))
    bench.send(0)
    assert [len(piece) for piece in bench.pieces[TO_BROKER]] == [4, 4, 2]
    assert bench.closes == [(0, CutHow.FIN, False)]


def test_frames_held_when_the_client_leaves_never_arrive(rig: type[Rig]) -> None:
    bench = rig(send(1, Hold()))
    bench.send(0, 1)
    bench.link.ended(0, ClosedBy.CLIENT, False, 0)
    bench.heal()
    assert bench.at_broker == []


def test_black_hole_swallows_what_was_still_held(rig: type[Rig]) -> None:
    bench = rig(receipt(1, Hold()), send(1, Cut(how=CutHow.BLACKHOLE, direction=TO_CLIENT)))
    bench.receipt(0)
    bench.send(0)
    bench.link.heal(0, 0)
    assert bench.at_client == []


def test_other_pieces_take_over_without_losing_bytes(rig: type[Rig]) -> None:
    bench = rig(send(1, Resegment(20, gap_ms=5)), send(2, Resegment(30, gap_ms=5)))
    bench.send(0, 1)
    bench.heal()
    plain = rig()
    plain.send(0, 1)
    assert b"".join(bench.pieces[TO_BROKER]) == b"".join(frame.raw for frame in plain.frames[TO_BROKER])


def test_healing_pieces_flushes_the_rest_in_order(rig: type[Rig]) -> None:
    bench = rig(send(1, Resegment(20, gap_ms=5)))
    bench.send(0, 1)
    bench.heal()
    bench.send(2)
    plain = rig()
    plain.send(0, 1)
    sent = b"".join(frame.raw for frame in plain.frames[TO_BROKER])
    assert b"".join(bench.pieces[TO_BROKER]) == sent
    assert bench.at_broker == [2]


def test_without_faults_a_client_that_leaves_costs_nothing_for_those_who_stay(
    rig: type[Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = rig()
    bench.opened(1)
    looked_at: list[Connection] = []
    monkeypatch.setattr(Connection, "drain_all", lambda self, _: looked_at.append(self))
    bench.link.ended(0, ClosedBy.CLIENT, False, bench.now_ns)
    assert looked_at == []
