"""Two clients differ where no run of the one comes to what a run of the other does, and where that is known."""

from __future__ import annotations

import pytest

from assay_conformance.machines.differences import Difference, differences
from assay_conformance.machines.outcomes import Aspect, Kind, Outcomes, Value

CLOSE = Aspect(Kind.ENDS, "close of step 3", "close")
STORED = Aspect(Kind.STORED, "t")
OK, CLOSED = ("ok",), ("fail closed",)


def runs(*values: Value, aspect: Aspect = CLOSE) -> list[Outcomes]:
    return [{aspect: value} for value in values]


def found(ours: list[Outcomes], theirs: list[Outcomes]) -> list[Aspect]:
    return [difference.aspect for difference in differences(ours, theirs)]


def test_call_that_ends_otherwise_in_every_run_differs() -> None:
    assert found(runs(OK, OK, OK), runs(CLOSED, CLOSED, CLOSED)) == [CLOSE]


def test_call_that_ended_once_as_the_other_one_does_not_differ() -> None:
    assert found(runs(OK, OK, CLOSED), runs(CLOSED, CLOSED, CLOSED)) == []


def test_values_that_never_come_again_say_nothing() -> None:
    assert found(runs(("a",), ("b",), ("c",)), runs(("d",), ("e",), ("f",))) == []


def test_one_new_value_of_three_leaves_it_known() -> None:
    assert found(runs(OK, OK, ("a",)), runs(CLOSED, CLOSED, CLOSED)) == [CLOSE]


def test_four_new_values_of_ten_do_not() -> None:
    varied = [(str(number),) for number in range(4)]
    assert found(runs(*varied[:3], *[OK] * 7), runs(*[CLOSED] * 10)) == [CLOSE]
    assert found(runs(*varied, *[OK] * 6), runs(*[CLOSED] * 10)) == []


def test_what_a_run_does_not_show_says_nothing() -> None:
    assert found(runs(OK), [{}]) == []


def test_a_first_look_takes_one_run_of_each() -> None:
    assert found(runs(OK), runs(CLOSED)) == [CLOSE]
    assert found([], []) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "relation"),
    [
        (("a", "b"), ("a",), "more / fewer"),
        ((), ("a",), "fewer / more"),
        (("a",), ("b",), "others"),
    ],
)
def test_of_messages_it_is_said_who_has_more(ours: Value, theirs: Value, relation: str) -> None:
    (difference,) = differences(runs(ours, aspect=STORED), runs(theirs, aspect=STORED))
    assert difference.breach == ("messages stored", relation)


def test_of_calls_it_is_said_how_they_end() -> None:
    (difference,) = differences(runs(OK), runs(CLOSED))
    assert difference.breach == ("close: end of the call", "ok / fail closed")


def test_of_numbers_it_is_said_which_is_larger() -> None:
    shown = Aspect(Kind.SHOWN, "receive of step 1: count", "receive: count")
    (difference,) = differences(runs(("9",), aspect=shown), runs(("10",), aspect=shown))
    assert difference.breach == ("receive: count", "fewer / more")


def test_difference_is_named_by_what_most_runs_came_to() -> None:
    (difference,) = differences(runs(OK, OK, ("fail timeout",)), runs(CLOSED, CLOSED, CLOSED))
    assert isinstance(difference, Difference)
    assert difference.breach == ("close: end of the call", "ok / fail closed")
