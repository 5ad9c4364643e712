"""An exploration in words."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console

from assay_reports.exploration import Exploration, Figures, goals, print_exploration


def _told(cases: int, interrupted: bool) -> str:
    nothing: dict[str, Any] = dict.fromkeys(Figures.__struct_fields__, 0)
    figures = Figures(**{**nothing, "cases": cases, "wall_s": 3.0})
    told = msgspec.convert(
        {
            "schema": "1.0",
            "file": "exploration",
            "run": "1",
            "agent": "a",
            "version": "1",
            "seed": 7,
            **dict.fromkeys(("areas", "found", "listed", "once", "unexercised"), ()),
            "interrupted": interrupted,
            "figures": msgspec.to_builtins(figures),
            "goals": msgspec.to_builtins(goals(figures)),
        },
        Exploration,
    )
    out = io.StringIO()
    print_exploration(told, "runs/1", Console(file=out, width=200))
    return out.getvalue()


@pytest.mark.parametrize(("cases", "interrupted", "said"), [(0, False, True), (1, False, False), (0, True, False)])
def test_time_that_was_too_short_for_any_case_is_told(cases: int, interrupted: bool, said: bool) -> None:
    assert ("nothing that was drawn had run when 3 s were over" in _told(cases, interrupted)) is said
