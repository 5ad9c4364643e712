"""When a certification counts as slower than it was, or than another number of Cases side by side."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.jobs import AUTOMATIC, STOPPED, Measuring, OverError, Took, ratio, slower_than_before, slower_than_best


def test_medians_are_compared() -> None:
    assert ratio([60.0, 50.0, 90.0], [30.0, 20.0, 90.0]) == 0.5


@pytest.mark.parametrize(("now_s", "is_missed"), [(33.0, False), (40.0, True)])
def test_what_takes_more_than_two_thirds_is_missed(now_s: float, is_missed: bool) -> None:
    assert any(slower_than_before("a", [50.0], [now_s])) is is_missed


@pytest.mark.parametrize(("automatic_s", "is_missed"), [(43.0, False), (45.0, True)])
def test_the_automatic_choice_is_compared_with_the_best_number(automatic_s: float, is_missed: bool) -> None:
    walls = {AUTOMATIC: [automatic_s], "jobs-8": [90.0], "jobs-16": [40.0], "jobs-32": [60.0]}
    assert any(slower_than_best("a", walls)) is is_missed


def test_where_no_number_was_tried_none_is_better() -> None:
    assert not any(slower_than_best("a", {AUTOMATIC: [45.0], "jobs-1": []}))


def test_a_run_that_is_kept_is_not_made_again(tmp_path: Path) -> None:
    program = tmp_path / "certifies"
    program.write_text(f"#!/bin/sh\necho once >> {tmp_path}/runs\n")
    program.chmod(0o755)
    took = [Measuring(tmp_path / "kept", 60.0).run("a", "now", 1, [str(program)]).took for _ in range(2)]
    assert took[0] == took[1]
    assert (tmp_path / "runs").read_text() == "once\n"
    assert isinstance(took[0], Took)


def test_no_run_is_begun_when_the_time_is_over(tmp_path: Path) -> None:
    with pytest.raises(OverError):
        Measuring(tmp_path, -1.0).run("a", "now", 1, ["true"])


def test_a_run_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    program = tmp_path / "certifies"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    run = Measuring(tmp_path / "kept", 60.0).run("a", "jobs-1", 1, [str(program)], jobs=1, most_s=0.0)
    assert run.took.status == STOPPED
