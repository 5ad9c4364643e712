"""Which events a timeline shows, and where faults were in force."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from assay_conformance.model.case import Case
from assay_conformance.model.event import Event, Fate, Fired, Frame, Healed, Invoke, Load, Note, Overdue, Sides
from assay_conformance.model.fault import Action, AtTime, Cut, CutHow, Delay, Direction, Drop, Fault, Hold
from assay_reports.describe import Lane
from assay_reports.page.chart import BROKER_X, CLIENT_X, chart
from assay_reports.timeline import EMPTY, Timeline, timeline

Sample = Any

MS = 1_000_000


def notes(count: int) -> list[Event]:
    return [Note(seq=i, t_ns=i * MS, text=str(i)) for i in range(count)]


def case_with(action: Action) -> Case:
    fault = Fault(trigger=AtTime(0), action=action)
    return Case(id="a/b", title="", requirements=(), steps=(), faults=(fault,))


def shown(story: Timeline) -> list[int]:
    return [row.seq for row in story.rows]


def test_named_events_are_always_shown(sample: Sample) -> None:
    story = timeline(notes(1000), [10, 900], sample.case(), limit=6)
    assert [row.seq for row in story.rows if row.named] == [10, 900]


def test_neighbours_of_named_events_are_shown_up_to_the_limit(sample: Sample) -> None:
    assert shown(timeline(notes(100), [50], sample.case(), limit=5)) == [48, 49, 50, 51, 52]


def test_gap_says_how_many_events_it_leaves_out(sample: Sample) -> None:
    story = timeline(notes(100), [10, 90], sample.case(), limit=6)
    assert sum(row.skipped for row in story.rows) + len(story.rows) + story.left_out == 100


def test_rows_are_in_order_of_time_not_of_arrival(sample: Sample) -> None:
    early = Note(seq=5, t_ns=1, text="late to arrive")
    assert shown(timeline([Note(seq=4, t_ns=2, text=""), early], [4, 5], sample.case())) == [5, 4]


def test_load_and_pings_are_left_out(sample: Sample) -> None:
    ping = Frame(seq=1, t_ns=1, conn=0, dir=Direction.TO_BROKER, frame=0, command="PING", size=9)
    load = Load(seq=2, t_ns=2, window_ns=1, loop_lag_ns=0, agent_wait_ns=0)
    assert shown(timeline([*notes(1), ping, load], [0], sample.case())) == [0]


def test_noise_that_is_named_is_shown(sample: Sample) -> None:
    load = Load(seq=1, t_ns=2, window_ns=1, loop_lag_ns=0, agent_wait_ns=0)
    assert shown(timeline([*notes(1), load], [1], sample.case())) == [0, 1]


def test_far_fault_is_nearer_than_other_far_events(sample: Sample) -> None:
    events = notes(60)
    events[38] = Fired(seq=38, t_ns=38 * MS, fault=1, action="cut", conn=0)
    assert 38 in shown(timeline(events, [50], sample.case(), limit=9))


def test_call_of_an_operation_that_never_ended_is_shown(sample: Sample) -> None:
    events = notes(100)
    events[3] = Invoke(seq=3, t_ns=3 * MS, op=7, verb="send")
    events[90] = Overdue(seq=90, t_ns=90 * MS, op=7, verb="send", deadline_ms=80)
    assert shown(timeline(events, [90], sample.case(), limit=4)) == [3, 89, 90, 91]


def test_events_unknown_to_the_history_show_its_start(sample: Sample) -> None:
    assert shown(timeline(notes(10), [999], sample.case(), limit=3)) == [0, 1, 2]


def test_band_covers_the_rows_while_a_fault_was_in_force(sample: Sample) -> None:
    story = timeline(sample.history(), [7, 18], sample.case())
    (band,) = story.bands
    assert (band.fault, band.start_ns, band.end_ns) == (0, int(13.1 * MS), int(22.1 * MS))
    assert story.rows[band.first].text.startswith("fault 0 fired")
    assert story.rows[band.last].text == "fault 0 healed"


def fired(*more: Event) -> Sequence[Event]:
    return [*notes(4), Fired(seq=4, t_ns=4 * MS, fault=0, action="x"), Note(seq=5, t_ns=9 * MS, text=""), *more]


@pytest.mark.parametrize("action", [Drop(), Cut(how=CutHow.RST)])
def test_fault_of_an_instant_has_no_band(action: Action) -> None:
    healed = Healed(seq=6, t_ns=20 * MS, fault=0)
    assert timeline(fired(healed), [4], case_with(action)).bands == ()


@pytest.mark.parametrize("action", [Hold(), Cut(how=CutHow.BLACKHOLE)])
def test_lasting_fault_that_was_not_healed_stays_open(action: Action) -> None:
    (band,) = timeline(fired(), [4], case_with(action)).bands
    assert (band.end_ns, band.last) == (None, 5)


def test_delay_lasts_as_long_as_it_says() -> None:
    (band,) = timeline(fired(), [4], case_with(Delay(3))).bands
    assert (band.end_ns, band.first, band.last) == (7 * MS, 4, 4)


def frame(sides: Sides, fate: Fate, direction: Direction = Direction.TO_BROKER) -> Frame:
    return Frame(seq=0, t_ns=0, conn=0, dir=direction, frame=0, command="SEND", size=1, sides=sides, fate=fate)


@pytest.mark.parametrize(
    ("event", "x1", "x2", "head", "lost"),
    [
        (frame(Sides.BOTH, Fate.PASSED), CLIENT_X, BROKER_X, True, False),
        (frame(Sides.BOTH, Fate.PASSED, Direction.TO_CLIENT), BROKER_X, CLIENT_X, True, False),
        (frame(Sides.SENDER, Fate.DROPPED), CLIENT_X, (CLIENT_X + BROKER_X) / 2, False, True),
        (frame(Sides.SENDER, Fate.HELD), CLIENT_X, (CLIENT_X + BROKER_X) / 2, False, False),
        (frame(Sides.RECEIVER, Fate.RELEASED), (CLIENT_X + BROKER_X) / 2, BROKER_X, True, False),
    ],
)
def test_arrow_goes_as_far_as_the_frame(
    sample: Sample, event: Frame, x1: float, x2: float, head: bool, lost: bool
) -> None:
    arrow = chart(timeline([event], [0], sample.case())).rows[0].arrow
    assert arrow is not None
    assert (arrow.x1, arrow.x2, arrow.head, arrow.lost) == (x1, x2, head, lost)


def test_rows_of_a_chart_never_overlap(sample: Sample) -> None:
    rows = chart(timeline(sample.history(), [7, 18, 19], sample.case())).rows
    assert all(above.top + above.height <= below.top for above, below in pairwise(rows))


def test_long_silence_is_written_between_two_rows(sample: Sample) -> None:
    events = [Note(seq=i, t_ns=t_ms * MS, text="") for i, t_ms in enumerate((0, 199, 1700))]
    assert [gap.text for gap in chart(timeline(events, [2], sample.case())).gaps] == ["1501 ms later"]


def test_gap_tells_events_and_time_together(sample: Sample) -> None:
    drawn = chart(timeline([*notes(9), Note(seq=9, t_ns=900 * MS, text="")], [0, 9], sample.case(), limit=2))
    assert [gap.text for gap in drawn.gaps] == ["8 more events, 900 ms later"]


def test_named_rows_are_numbered_from_one(sample: Sample) -> None:
    rows = chart(timeline(sample.history(), [7, 18, 19], sample.case())).rows
    assert [row.number for row in rows if row.number] == [1, 2, 3]


def test_long_words_are_cut_to_their_lane(sample: Sample) -> None:
    note = Note(seq=0, t_ns=0, text="word " * 200)
    (row,) = chart(timeline([note], [0], sample.case())).rows
    assert len(row.lines) == 2
    assert row.lines[1][1].endswith("…")


def test_empty_timeline_is_an_empty_chart() -> None:
    assert chart(EMPTY).rows == ()


def test_lanes_follow_the_witness(sample: Sample) -> None:
    story = timeline(sample.history(), [7], sample.case())
    assert {row.lane for row in story.rows} == set(Lane)


def test_history_is_not_changed(sample: Sample) -> None:
    before = sample.history()
    events = list(before)
    timeline(events, [7], sample.case())
    assert msgspec.json.encode(events) == msgspec.json.encode(before)
