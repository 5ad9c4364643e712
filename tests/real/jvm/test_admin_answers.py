"""Real Pulsar still answers what was recorded, and still has the calls that are listed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.fixtures.light.answers import Recording, recordings
from tests.real.jvm.admin_answers import different
from tests.real.jvm.admin_calls import listed

from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.jvm.command import Pulsar
from assay_fixtures.brokers.jvm.standalone import Standalone
from assay_fixtures.light.admin.calls import KnownCall, known_calls

SHORT = "delays"
"""The conversation of the short form: the others take minutes, most of which a node waits for its own topics."""


def conversations() -> list[Any]:
    return [
        pytest.param(path, marks=() if path.stem == SHORT else pytest.mark.long, id=path.stem) for path in recordings()
    ]


async def compare(pulsar: Pulsar, folder: Path, ledger: CleanupJournal, recording: Recording) -> list[str]:
    async with Standalone(pulsar, data=folder / "data", logs=folder / "logs", ledger=ledger) as node:
        return await asyncio.to_thread(different, recording, node.service_url, node.admin_url)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("path", conversations())
def test_node_answers_as_was_recorded(pulsar: Pulsar, tmp_path: Path, ledger: CleanupJournal, path: Path) -> None:
    recording = msgspec.json.decode(path.read_bytes(), type=Recording)
    assert asyncio.run(compare(pulsar, tmp_path, ledger, recording)) == []


@pytest.mark.one_in(2)
def test_release_has_the_calls_that_are_listed(pulsar: Pulsar) -> None:
    assert tuple(KnownCall(*line.split("\t")) for line in listed(pulsar)) == known_calls()
