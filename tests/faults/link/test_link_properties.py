"""What holds for every sequence of frames, whatever the faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from assay_conformance.model.event import Fate, Sides
from assay_conformance.model.event import Frame as FrameEvent
from assay_conformance.model.fault import Delay, Direction, Drop, Duplicate, Fault, Hold, OnFrame, Until

if TYPE_CHECKING:
    from tests.faults.conftest import Rig

TO_BROKER, TO_CLIENT = Direction.TO_BROKER, Direction.TO_CLIENT
NAMES = {TO_BROKER: "SEND", TO_CLIENT: "SEND_RECEIPT"}

# A frame: direction and connection. Its sequence id is its place in the list.
frames = st.lists(st.tuples(st.sampled_from(Direction), st.integers(0, 1)))
# A step is done, or a millisecond passes, after that many frames.
pauses = st.dictionaries(st.integers(0, 20), st.sampled_from(["step", "time"]))
faults = st.lists(
    st.builds(
        lambda direction, k, times, action, until: Fault(
            trigger=OnFrame(command=NAMES[direction], direction=direction, k=k, times=times),
            action=action,
            until=until,
        ),
        st.sampled_from(Direction),
        st.integers(1, 4),
        st.integers(0, 3),
        st.one_of(
            st.just(Drop()),
            st.builds(Hold, st.booleans()),
            st.builds(Duplicate, st.integers(1, 2)),
            st.builds(Delay, st.integers(0, 3), st.booleans()),
        ),
        st.one_of(
            st.just(Until()), st.builds(Until, step=st.integers(0, 3)), st.builds(Until, after_ms=st.integers(0, 3))
        ),
    ),
    max_size=4,
)


def play(bench: Rig, sent: list[tuple[Direction, int]], pauses: dict[int, str]) -> None:
    bench.opened(1)
    steps = 0
    for number, (direction, conn) in enumerate(sent):
        if direction is TO_BROKER:
            bench.send(number, conn=conn)
        else:
            bench.receipt(number, conn=conn)
        if pauses.get(number) == "time":
            bench.at_ms(bench.now_ns // 1_000_000 + 1)
        elif pauses.get(number) == "step":
            bench.step(steps)
            steps += 1
    bench.heal()


def arrived(bench: Rig, direction: Direction) -> list[int]:
    return bench.at_broker if direction is TO_BROKER else bench.at_client


@settings(deadline=None)
@given(frames)
def test_link_without_faults_changes_nothing(rig: type[Rig], sent: list[tuple[Direction, int]]) -> None:
    bench = rig()
    play(bench, sent, {})
    for direction in Direction:
        assert arrived(bench, direction) == [number for number, (way, _) in enumerate(sent) if way is direction]
    assert bench.wire() == [(number, "both", "passed") for number in range(len(sent))]


@settings(deadline=None)
@given(frames, pauses, faults)
def test_receivers_side_is_what_the_receiver_got(
    rig: type[Rig], sent: list[tuple[Direction, int]], pauses: dict[int, str], faults: list[Fault]
) -> None:
    bench = rig(*faults)
    play(bench, sent, pauses)
    for direction in Direction:
        recorded = [event for event in bench.of(FrameEvent) if event.dir is direction and event.to_receiver]
        assert [event.sequence_id for event in recorded] == arrived(bench, direction)


@settings(deadline=None)
@given(frames, pauses, faults)
def test_senders_side_is_what_the_sender_wrote(
    rig: type[Rig], sent: list[tuple[Direction, int]], pauses: dict[int, str], faults: list[Fault]
) -> None:
    bench = rig(*faults)
    play(bench, sent, pauses)
    recorded = [event.sequence_id for event in bench.of(FrameEvent) if event.from_sender]
    assert recorded == list(range(len(sent)))


@settings(deadline=None)
@given(frames, pauses, faults)
def test_only_dropped_frames_are_missing_in_the_end(
    rig: type[Rig], sent: list[tuple[Direction, int]], pauses: dict[int, str], faults: list[Fault]
) -> None:
    bench = rig(*faults)
    play(bench, sent, pauses)
    dropped = {event.sequence_id for event in bench.of(FrameEvent) if event.fate is Fate.DROPPED}
    assert {*bench.at_broker, *bench.at_client} == set(range(len(sent))) - dropped


@settings(deadline=None)
@given(frames, pauses, faults)
def test_order_is_kept_where_nothing_may_overtake(
    rig: type[Rig], sent: list[tuple[Direction, int]], pauses: dict[int, str], faults: list[Fault]
) -> None:
    bench = rig(*[fault for fault in faults if not getattr(fault.action, "overtake", False)])
    play(bench, sent, pauses)
    for conn in (0, 1):
        for direction in Direction:
            mine = [number for number in arrived(bench, direction) if sent[number][1] == conn]
            assert mine == sorted(mine)


@settings(deadline=None)
@given(frames, pauses, faults)
def test_frame_seen_by_both_sides_has_no_other_event(
    rig: type[Rig], sent: list[tuple[Direction, int]], pauses: dict[int, str], faults: list[Fault]
) -> None:
    bench = rig(*faults)
    play(bench, sent, pauses)
    events = bench.of(FrameEvent)
    whole = [event.frame for event in events if event.sides is Sides.BOTH]
    assert [number for number in whole if sum(event.frame == number for event in events) > 1] == []
