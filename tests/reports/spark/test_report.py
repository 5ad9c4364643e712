"""A ledger's verdicts as report, page, JUnit and exit code; judged in memory, so that no Spark runs here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay_conformance.catalogue import load
from assay_conformance.ledger.collection import Counted, Rows, Second, Small, Sums, Window, sums
from assay_conformance.ledger.judge import judge_rows
from assay_conformance.ledger.rows import (
    Ack,
    Attempt,
    Consumer,
    Delivery,
    Epoch,
    Outcome,
    Stream,
    Subscription,
    Topic,
    Writer,
)
from assay_conformance.ledger.script import some_info
from assay_conformance.ledger.spans import Span, Spans
from assay_conformance.ledger.tables import NONE
from assay_conformance.model.errors import UsageError
from assay_conformance.model.run import BrokerInfo
from assay_reports.plots import BOTTOM, LEFT, RIGHT, TOP, Plot, plots
from assay_reports.spark.report import Judged, report, write

INFO = some_info(
    run="soak-1",
    client="pulsar-client",
    client_version="3.13.0",
    broker=BrokerInfo(kind="embedded", name="assay", version="0.1.0"),
    started_unix_ms=1_780_000_000_000,
    ended_unix_ms=1_780_000_060_000,
)
SMALL = Small(
    streams={0: Stream(0, "p", 0)},
    topics={0: Topic(0, "t")},
    subscriptions={0: Subscription(0, "s", "Exclusive", "0")},
    consumers={0: Consumer(0, 0, "c")},
    writers={0: Writer(0, "w")},
    epochs={0: Epoch(0, "kill", "broker 0", 20_000_000, 25_000_000)},
)


def rows(out_of_order: bool = False) -> Rows:
    """Three messages of one producer, sent, stored, delivered and acknowledged."""
    gaps = (1, 2, -1) if out_of_order else (1, 1, 1)
    order = (0, 2, 1) if out_of_order else (0, 1, 2)
    return Rows(
        tuple(Attempt(0, seq, NONE, seq, 10, 7) for seq in range(3)),
        tuple(Outcome(0, seq, 1, seq, NONE, seq + 5, 0) for seq in range(3)),
        tuple(
            Delivery(0, 0, pos, 0, seq, NONE, 1, seq, NONE, 0, 20 + pos, 7, gap=gap)
            for pos, (seq, gap) in enumerate(zip(order, gaps, strict=True))
        ),
        tuple(Ack(0, 0, 0, seq, 1, seq, NONE, 0, 30, 31) for seq in range(3)),
    )


def judged(content: Rows, **fields: Any) -> Judged:
    known = sums(content, SMALL, INFO)
    return Judged(INFO, SMALL, known, judge_rows(content, SMALL, INFO, known, load()), **fields)


def exit_code(what: Judged) -> int:
    return report(what, load(), "soak-1", Path("soak-1")).verdicts.exit_code


def test_a_ledger_in_order_passes() -> None:
    without_faults = SMALL._replace(epochs={})
    content = rows()
    known = sums(content, without_faults, INFO)
    what = Judged(INFO, without_faults, known, judge_rows(content, without_faults, INFO, known, load()))
    assert exit_code(what) == 0


def test_a_breach_is_an_exit_of_1_and_its_message_is_told_in_terminal_page_and_junit(tmp_path: Path) -> None:
    made = report(judged(rows(out_of_order=True)), load(), "soak-1", tmp_path)
    write(made, tmp_path)
    assert made.verdicts.exit_code == 1
    page = (tmp_path / "report.html").read_text()
    assert "stream = 0 and seq = 1" in page
    assert "assay reconcile soak-1" in page
    assert "ordering.keeps-send-order" in (tmp_path / "junit.xml").read_text()


def test_the_page_says_what_else_had_a_part_in_the_run(tmp_path: Path) -> None:
    info = replace(INFO, versions={"agent": "pulsar-python", "order-service": "7.3.1"})
    write(report(Judged(info, SMALL, Sums({}), ()), load(), "ledger", tmp_path), tmp_path)
    assert "agent: pulsar-python, order-service: 7.3.1" in (tmp_path / "report.html").read_text()


def test_an_empty_ledger_leaves_no_verdict() -> None:
    assert exit_code(judged(Rows())) == 3


def test_a_damaged_part_is_named_and_leaves_no_verdict() -> None:
    made = report(
        judged(rows(), bad=("soak-1/ack/w0-000000.parquet: is no whole Parquet file",)), load(), "x", Path("x")
    )
    assert made.verdicts.exit_code == 3
    assert any("w0-000000.parquet" in reason.sentence for reason in made.verdicts.reasons)


def test_a_folder_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="name another with --report"):
        write(report(judged(rows()), load(), "x", Path("x")), tmp_path / "file")


# --- plots ----------------------------------------------------------------------------------------------------------


def a_minute() -> Sums:
    """A hundred messages a second; none delivered from second 20 to 29, then all at once."""
    told = [Second(Counted.STORED, 0, second, 100) for second in range(60)]
    there = [second for second in range(60) if second not in range(20, 30)]
    first = [Second(Counted.FIRST, 0, second, 1100 if second == 30 else 100) for second in there]
    window = Window(0, 500, 0, 3, 40_000, 900_000, 9_000_000)
    took = tuple(Span(second, 100, 1_000, 10_000, 9_000_000) for second in there)
    spans = Spans(1_000_000, took)
    return Sums({}, tuple(sorted([*told, *first])), (window,), end_us=60_000_000, spans=spans)


def named(title: str) -> Plot:
    return next(plot for plot in plots(a_minute(), SMALL) if plot.title == title)


def heights(plot: Plot, name: str) -> list[float]:
    line = next(line for line in plot.lines if line.name == name)
    return [float(point.split(",")[1]) for point in line.points.split()]


def test_what_is_behind_grows_while_nothing_is_delivered() -> None:
    drawn = heights(named("Behind"), "s")
    assert drawn[19] == BOTTOM
    assert drawn[29] == TOP
    assert drawn[30] == BOTTOM


def test_a_fault_is_a_band_where_it_acted() -> None:
    plot = named("Messages a second")
    (band,) = plot.bands
    ticks = {tick.text: tick.at for tick in plot.x_ticks}
    assert band.text == "kill of broker 0"
    assert band.x == ticks["20 s"]
    assert band.width > 0


def test_the_top_of_an_axis_is_a_round_number_above_everything() -> None:
    assert [tick.text for tick in named("Messages a second").y_ticks] == ["0", "500", "1000", "1500"]
    assert min(heights(named("Messages a second"), "delivered")) >= TOP


def test_latencies_stand_where_their_window_does() -> None:
    plot = named("From send to delivery, of what was sent while a fault acted")
    assert {line.name for line in plot.lines} == {"half", "99 %", "all"}


OVER_THE_RUN = "From send to delivery, by powers of ten"


def test_latencies_are_drawn_over_the_whole_run() -> None:
    plot = named(OVER_THE_RUN)
    half = [line.points.split() for line in plot.lines if line.name == "half"]
    assert [len(points) for points in half] == [40, 60]
    assert (half[0][0].split(",")[0], half[-1][-1].split(",")[0]) == (f"{float(LEFT)}", f"{float(RIGHT)}")


def test_latencies_far_apart_are_told_apart() -> None:
    plot = named(OVER_THE_RUN)
    assert [tick.text for tick in plot.y_ticks] == ["1", "10", "100", "1000", "10k"]
    ticks = {tick.text: tick.at for tick in plot.y_ticks}
    assert heights(plot, "half")[0] == ticks["1"]
    assert heights(plot, "99 %")[0] == ticks["10"]


def test_clocks_that_differ_leave_no_latency_below_the_axis() -> None:
    sums = a_minute()
    early = sums._replace(spans=Spans(1_000_000, (Span(3, 1, -50, -50, 40_000),)))
    plot = next(plot for plot in plots(early, SMALL) if plot.title == OVER_THE_RUN)
    assert heights(plot, "half") == [BOTTOM, BOTTOM]


@pytest.mark.parametrize("t_us", [20_000_000, 59_999_999])
def test_a_fault_of_a_moment_is_seen_and_lies_in_the_plot(t_us: int) -> None:
    small = SMALL._replace(epochs={0: Epoch(0, "kill", "broker 0", t_us, t_us + 1)})
    (band,) = next(iter(plots(a_minute(), small))).bands
    assert band.width >= 5
    assert band.x + band.width <= RIGHT


def test_a_run_that_was_over_in_a_moment_has_no_plots() -> None:
    assert not plots(sums(rows(), SMALL, INFO), SMALL)
