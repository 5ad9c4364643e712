"""Commands about ledgers that the pages print, run as printed: those that end soon, in the order of the pages."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.printed import ended, read_by_its_help

from assay_fixtures.documents.commands import READ_WITH_SPARK, WITH_SPARK, printed, why_not_run

DOCS = Path(__file__).parents[2] / "docs"
TIMEOUT_S = 280
ALL = [one.text for one in printed()]
TEXTS = [text for text in ALL if why_not_run(text) == WITH_SPARK]
EXAMPLE = ["assay ledger map docs/examples/production-logs/orders.toml orders", "assay reconcile orders"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where `docs` is, as in a checkout."""
    (tmp_path / "docs").symlink_to(DOCS)
    return tmp_path


@pytest.mark.one_in(3)
def test_example_of_production_logs_finds_what_its_page_says(folder: Path) -> None:
    read, judged = (ended(text, folder, TIMEOUT_S) for text in EXAMPLE)
    assert read[0] == 0, read[1]
    # One order was lost and another came twice.
    assert judged[0] == 1, judged[1]
    assert [name in judged[1] for name in ("lost", "again")] == [True, True], judged[1]


def test_commands_about_a_made_up_ledger_run_as_printed(folder: Path) -> None:
    made, *looked_at = sorted((text for text in TEXTS if text not in EXAMPLE), key=lambda text: "synth" not in text)
    assert ("synth" in made, len(looked_at)) == (True, 2)
    assert [(text, ended(text, folder)[0]) for text in (made, *looked_at)] == [(text, 0) for text in (made, *looked_at)]


@pytest.mark.parametrize("text", dict.fromkeys(text for text in ALL if why_not_run(text) == READ_WITH_SPARK))
def test_options_of_a_measurement_exist(text: str) -> None:
    program, *arguments = shlex.split(text)
    assert program == "python"
    read_by_its_help(arguments)


def test_commands_are_those_of_the_pages() -> None:
    assert set(EXAMPLE) < set(TEXTS)
