"""When a time bound may be judged: on a quiet machine, and with nothing outside the frames in the way."""

from __future__ import annotations

import pytest

from assay_conformance.checks.tolerance import MS, TOLERANCES, HeldUp, LoadRecord, Timing
from assay_conformance.model.event import Load

SLACK_MS = TOLERANCES["answer"].slack_ms


def timing(record: LoadRecord, due_ms: int, seen_ms: int) -> Timing:
    return record.timing(due_ms * MS, due_ms * MS, seen_ms * MS, TOLERANCES["answer"])


def harmed(from_ms: int, to_ms: int | None = None) -> LoadRecord:
    record = LoadRecord()
    record.fired(0, "latency", from_ms * MS)
    if to_ms is not None:
        record.healed(0, to_ms * MS)
    return record


def test_what_comes_within_the_slack_is_in_time() -> None:
    assert timing(LoadRecord(), 0, SLACK_MS) is Timing.IN_TIME


def test_what_comes_later_is_late_on_a_quiet_machine() -> None:
    assert timing(LoadRecord(), 0, SLACK_MS + 1) is Timing.LATE


def busy(**suffered: int) -> LoadRecord:
    """One sample over the whole slack."""
    record, slack_ns = LoadRecord(), SLACK_MS * MS
    quiet = {"loop_lag_ns": 0, "agent_wait_ns": 0}
    record.add(Load(seq=0, t_ns=slack_ns, window_ns=slack_ns, **{**quiet, **suffered}))
    return record


@pytest.mark.parametrize("who", ["loop_lag_ns", "agent_wait_ns", "broker_wait_ns"])
def test_nothing_is_late_on_a_busy_machine(who: str) -> None:
    """Whoever of the three was kept waiting."""
    assert timing(busy(**{who: SLACK_MS * MS}), 0, SLACK_MS + 1) is Timing.UNDECIDED


def waits(every_ms: int, wait_ms: int, until_ms: int) -> LoadRecord:
    """Windows of a tenth of a second, in each of which somebody was kept waiting for so long."""
    record = LoadRecord()
    for end_ms in range(100, until_ms + 1, every_ms):
        record.add(Load(seq=end_ms, t_ns=end_ms * MS, window_ns=100 * MS, loop_lag_ns=wait_ms * MS, agent_wait_ns=0))
    return record


@pytest.mark.parametrize(("wait_ms", "expected"), [(100, Timing.UNDECIDED), (10, Timing.LATE)])
def test_short_waits_excuse_what_they_come_to_together(wait_ms: int, expected: Timing) -> None:
    """None of them by itself: a client that is woken, arms a timer and writes waits three times."""
    assert timing(waits(100, wait_ms, 2_000), 0, SLACK_MS + 300) is expected


def test_waits_beside_a_timer_that_runs_excuse_nothing() -> None:
    record, slack_ns = waits(100, 100, 9_000), SLACK_MS * MS
    assert record.timing(0, 30_000 * MS, 30_700 * MS + slack_ns, TOLERANCES["answer"]) is Timing.LATE


def test_samples_are_looked_up_by_their_time_whatever_order_they_come_in() -> None:
    record = LoadRecord()
    for end_ms in (300, 100, 200):
        record.add(Load(seq=0, t_ns=end_ms * MS, window_ns=100 * MS, loop_lag_ns=end_ms * MS, agent_wait_ns=0))
    assert record.held_up(150 * MS, 190 * MS) == HeldUp(200 * MS, 200 * MS)
    assert record.held_up(0, 50 * MS).worst_ns == 100 * MS


def test_schedule_of_a_case_is_not_its_brokers_affair() -> None:
    record, tolerance = busy(broker_wait_ns=SLACK_MS * MS), TOLERANCES["answer"]
    assert not record.quiet(0, SLACK_MS * MS, tolerance)
    assert record.quiet(0, SLACK_MS * MS, tolerance, brokers=False)


def test_company_on_a_broker_excuses_no_lateness() -> None:
    assert timing(busy(others=5), 0, SLACK_MS + 1) is Timing.LATE


def test_company_is_known_for_the_time_it_was_there() -> None:
    record = busy(others=1)
    assert not record.alone(0, 1)
    assert record.alone((SLACK_MS + 1) * MS, (SLACK_MS + 2) * MS)


def test_nothing_is_late_while_a_fault_outside_the_frames_stands() -> None:
    assert timing(harmed(1_000), 0, 60_000) is Timing.UNDECIDED


def test_faults_of_frames_excuse_nothing() -> None:
    record = LoadRecord()
    record.fired(0, "drop", 0)
    assert timing(record, 0, SLACK_MS + 1) is Timing.LATE


@pytest.mark.parametrize(
    ("seen_ms", "expected"), [(3_000 + SLACK_MS, Timing.UNDECIDED), (3_001 + SLACK_MS, Timing.LATE)]
)
def test_what_a_fault_held_up_has_its_time_from_when_that_healed(seen_ms: int, expected: Timing) -> None:
    """Healed at 2 s, and a second for connections to come back."""
    assert timing(harmed(1_500, 2_000), 100, seen_ms) is expected


def test_what_a_fault_held_up_for_long_may_take_as_long_again() -> None:
    assert timing(harmed(1_000, 9_000), 100, 17_000) is Timing.UNDECIDED


def test_what_begins_behind_a_fault_is_judged_as_ever() -> None:
    assert timing(harmed(0, 1_000), 2_001, 2_002 + SLACK_MS) is Timing.LATE


def test_one_of_two_faults_that_is_healed_leaves_the_other() -> None:
    record = harmed(0)
    record.fired(1, "partition", 0)
    record.healed(0, 1_000 * MS)
    assert timing(record, 100, 60_000) is Timing.UNDECIDED


def kept(*samples_ms: tuple[int, int]) -> HeldUp:
    """Of samples one after the other: (how long the window was, for how long the agent was kept from running)."""
    record, now_ns = LoadRecord(), 0
    for window_ms, wait_ms in samples_ms:
        now_ns += window_ms * MS
        record.add(Load(seq=0, t_ns=now_ns, window_ns=window_ms * MS, loop_lag_ns=0, agent_wait_ns=wait_ms * MS))
    return record.held_up(0, now_ns)


def test_short_waits_add_up() -> None:
    assert kept((100, 30), (100, 40), (100, 0)) == HeldUp(70 * MS, 40 * MS)


def test_a_wait_that_grows_from_window_to_window_is_one() -> None:
    assert kept((100, 100), (100, 200), (100, 300)) == HeldUp(300 * MS, 300 * MS)


def test_a_wait_that_is_told_when_it_is_over_counts_whole() -> None:
    assert kept((100, 0), (100, 900)) == HeldUp(900 * MS, 900 * MS)


def test_the_figure_is_read_by_people() -> None:
    assert str(HeldUp(412 * MS, 80 * MS)) == "412 ms in all and 80 ms at once"
