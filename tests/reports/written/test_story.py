"""The timeline of a Case in the terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest

from assay_conformance.model.event import Note
from assay_conformance.model.verdict import Verdict
from assay_reports.story import print_story
from assay_reports.terminal import terminal

Sample = Any


def told(sample: Sample, *, width: int = 100, limit: int = 200, **fields: Any) -> str:
    out = io.StringIO()
    cells = sample.standing(sample.judged(Verdict.FAIL, "out-of-order")).cells
    events = fields.get("events") or sample.history()
    print_story(terminal(out, width=width), sample.case(), 1, events, cells, limit)
    return out.getvalue()


def test_head_names_case_verdict_and_finding(sample: Sample) -> None:
    lines = told(sample, width=160).splitlines()
    assert lines[0] == "resend/cut-after-second-receipt  Three sends, cut after the second receipt, attempt 1"
    assert lines[1] == "fail  resend.keeps-order"
    assert lines[2].startswith("    out-of-order: producer 1 sent sequence id 2 before 1")


def test_each_row_has_its_time_its_lane_and_what_happened(sample: Sample) -> None:
    rows = [line.split() for line in told(sample).splitlines()]
    assert ["10.0", "ms", "client", "send", "message", "0", "·", "handle", "1", "·", "op", "3"] in rows
    assert any(row[-10:][:2] == ["broker", "stored"] or "broker" in row for row in rows)


def test_frames_point_the_way_they_go(sample: Sample) -> None:
    text = told(sample)
    assert "wire   → SEND producer 1 sequence 0" in text
    assert "wire   ← SEND_RECEIPT producer 1" in text


def test_contradicting_events_are_marked(sample: Sample) -> None:
    marked = [line for line in told(sample).splitlines() if line.startswith("▶")]
    assert len(marked) == 3


def test_fault_in_force_runs_beside_the_rows_it_covers(sample: Sample) -> None:
    lines = told(sample).splitlines()
    covered = [line for line in lines if " a " in line[:18]]
    assert "held" in covered[1]
    assert "released" in covered[-2]
    assert "a  in force: hold the 1st SEND_RECEIPT, broker to client" in "\n".join(lines)


def test_receipt_of_a_fault_is_told_ahead(sample: Sample) -> None:
    assert "fault  13.1 ms: fault 0 fired: hold on frame 23" in told(sample, width=160)


def test_what_the_limit_leaves_out_is_counted(sample: Sample) -> None:
    events = [Note(seq=i, t_ns=i, text=str(i)) for i in range(50)]
    assert "more; --limit shows more of them" in told(sample, limit=10, events=events)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_story_fits_its_terminal_and_its_lines_end_with_their_text(sample: Sample, width: int) -> None:
    lines = told(sample, width=width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert [line for line in lines if line != line.rstrip()] == []
