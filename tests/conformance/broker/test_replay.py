"""Replay against reality: the recorded broker and this one answer alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.replay import harness, parity, read, read_folder, reading, replay
from tests.replay.normal import ERASED, RULES

from assay_conformance.wire import BODY_FIELDS, BaseCommand, CommandType
from assay_fixtures.differential.normal import Erased

CAPTURES = Path(__file__).parents[3] / "fixtures" / "golden" / "captures"
NAMES = [f"{path.parent.name}/{path.stem}" for path in sorted(CAPTURES.glob("*/*.jsonl"))]


def test_there_are_recordings_to_replay() -> None:
    assert len(NAMES) > 50


@pytest.mark.parametrize("name", NAMES)
def test_answers_equal_the_recorded_ones(name: str) -> None:
    assert replay(read(CAPTURES / f"{name}.jsonl")) == []


@pytest.mark.parametrize(
    ("name", "mutation"),
    [
        ("raw/dedup_ids", "dedup-stores-duplicates"),
        ("raw/dedup_chunks", "loses-chunk"),
        ("pulsar-python-3.13.0/publish_rate", "publish-throttle-answers-error"),
        ("pulsar-python-3.13.0/unbatched", "loses-receipted-append"),
    ],
)
def test_broken_broker_is_noticed(name: str, mutation: str) -> None:
    assert replay(read(CAPTURES / f"{name}.jsonl"), mutation) != []


def test_every_missing_answer_is_noticed() -> None:
    recording = read(CAPTURES / "raw" / "flow.jsonl")
    answers = [index for index, line in enumerate(recording.lines) if line.raw is not None and line.is_answer]
    for index in answers:
        shorter = replace(recording, lines=recording.lines[:index] + recording.lines[index + 1 :])
        assert replay(shorter) != []


@pytest.mark.parametrize("row", ERASED, ids=lambda row: f"{row.command}.{row.field}")
def test_erased_field_exists_and_has_a_reason(row: Erased) -> None:
    field = BODY_FIELDS[CommandType[row.command]]
    body = BaseCommand.DESCRIPTOR.fields_by_name[field].message_type
    assert body is not None
    assert row.field in body.fields_by_name
    assert row.reason


@pytest.mark.parametrize("where", RULES)
def test_erasing_function_exists(where: str) -> None:
    modules = [vars(harness) | vars(harness.Replay), vars(reading)]
    assert any(where.removeprefix("Replay.") in module for module in modules)


def test_folder_is_read_in_order() -> None:
    assert [recording.name for recording in read_folder(CAPTURES)] == NAMES


def test_parity_page_is_what_the_tables_say() -> None:
    assert parity.PAGE.read_text(encoding="utf-8") == parity.page()
