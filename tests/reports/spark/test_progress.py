"""What is told while a ledger is judged."""

from __future__ import annotations

import io

from assay_reports.spark.progress import Progress


def test_a_line_tells_stage_rows_rate_and_what_remains() -> None:
    progress = Progress(io.StringIO())
    with progress.stage("fold", 40_000_000):
        progress.done(10_000_000)
        assert progress.line(5.0) == "fold: 10.00 M of 40.00 M rows, 2.00 M rows/s, 15 s remain"


def test_a_small_ledger_is_told_in_rows() -> None:
    progress = Progress(io.StringIO())
    with progress.stage("fold", 40_000):
        progress.done(10_000)
        assert progress.line(5.0) == "fold: 10,000 of 40,000 rows, 2,000 rows/s, 15 s remain"


def test_at_the_beginning_nobody_knows_what_remains() -> None:
    progress = Progress(io.StringIO())
    with progress.stage("fold", 40_000_000):
        assert "remain" not in progress.line(5.0)


def test_a_stage_without_rows_tells_how_long_it_takes() -> None:
    progress = Progress(io.StringIO())
    with progress.stage("screen"):
        assert progress.line(3.2) == "screen … 3 s"


def test_of_a_stage_that_is_over_at_once_nothing_is_said() -> None:
    out = io.StringIO()
    with Progress(out).stage("judge", 5):
        pass
    assert not out.getvalue()


def test_an_output_that_is_gone_ends_nothing() -> None:
    out = io.StringIO()
    progress = Progress(out)
    out.close()
    progress.note("lost")
