"""Differences in words."""

from __future__ import annotations

import pytest

from assay_reports.differences_text import against_line, difference_lines, value_text
from assay_reports.exploration import Against, Differs, Side

CLOSED = Differs(
    what="close: end of the call",
    how="fail closed / ok",
    place="close of step 4",
    ours=Side(values=(("fail closed", 9), ("never ended", 1))),
    theirs=Side(values=(("ok", 10),)),
    also=("subscriptions: more / fewer",),
    case="generated/differs-1",
    history="differs/generated/differs-1",
    shape=("agent close",),
    steps=4,
    faults=0,
    runs=10,
    minimal=True,
    seen=2,
    took_s=3.0,
)
AGAINST = Against(
    agent="a", version="2", cases=40, directed=30, hints=3, gone=2, runs=120, confirming=0.3, left=0, differs=(CLOSED,)
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((), "none"),
        (("ok",), "ok"),
        (("2#0", "2#1", "2#2", "3#7"), "2#0-2, 3#7"),
        (("2#10", "2#9"), "2#9-10"),
        (("t 0", "2#1"), "2#1, t 0"),
        (
            tuple(f"1#{number}" for number in range(0, 30, 2)),
            "1#0, 1#2, 1#4, 1#6, 1#8, 1#10, 1#12, 1#14, 1#16, 1#18, 1#20, 1#22, and 3 more",
        ),
    ],
)
def test_messages_that_follow_each_other_are_one_stretch(value: tuple[str, ...], text: str) -> None:
    assert value_text(value) == text


def test_both_outcomes_stand_side_by_side() -> None:
    head, ours, theirs, *_, also, _ = (line.plain for line in difference_lines(AGAINST, "a 1", "runs/x"))
    assert head == "differs  close: end of the call (close of step 4)"
    assert ours == "  a 1: fail closed, in 9 of 10 runs; never ended, in 1 of 10 runs"
    assert theirs == "  a 2: ok, in 10 of 10 runs"
    assert also == "  differs as well: subscriptions: more / fewer"


def test_comparison_says_what_it_was_made_of() -> None:
    assert "40 Cases compared, 30 of them written by hand; 3 came out otherwise" in against_line(AGAINST)
