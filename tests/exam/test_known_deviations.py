"""A real client's deviation is listed only with evidence: a replay that shows it, and an honest client that passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay_conformance.model.needs import means
from assay_conformance.model.outside import Means
from assay_conformance.model.verdict import Verdict
from assay_fixtures.agents.manifest import find
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial
from assay_reports.deviations import Deviation
from assay_reports.expectations import Expectation, check_known, read_expectations
from assay_reports.replay import read_replay

MANIFEST = find("pulsar-python")
LISTED = read_expectations(MANIFEST.expectations)
PACK = load_packs()


def _name(entry: Expectation) -> str:
    return f"{entry.requirement} in {entry.case}"


@pytest.mark.parametrize("entry", LISTED.entries, ids=_name)
def test_a_listed_failure_has_its_replay(entry: Expectation) -> None:
    path = MANIFEST.folder / entry.replay
    replay = read_replay(path.read_bytes(), str(path))
    assert entry.is_about(replay.case.id)


@pytest.mark.parametrize("entry", LISTED.entries, ids=_name)
def test_a_listed_failure_has_reason_and_wire_excerpt(entry: Expectation) -> None:
    assert len(entry.reason) > 40
    assert entry.excerpt


@pytest.mark.parametrize("path", sorted((MANIFEST.folder / "replays").glob("*.json")), ids=lambda path: path.stem)
def test_an_honest_client_passes_the_replayed_case(path: Path) -> None:
    replay = read_replay(path.read_bytes(), str(path))
    if not means(replay.case) <= {Means.FRAMES}:
        return  # shown where its means are: tests/real
    verdicts = {j.requirement: j.verdict for j in ReferenceTrial().in_virtual_time(replay.case).judgements}
    # Some a client only comes to by what it did wrong before: those nobody asks an honest one for.
    asked = {*replay.case.requirements, *(breach.requirement for breach in replay.breaches)} & verdicts.keys()
    assert asked
    assert {requirement: verdicts[requirement] for requirement in asked} == dict.fromkeys(asked, Verdict.PASS)


@pytest.mark.parametrize("deviation", LISTED.deviations, ids=lambda one: one.id)
def test_a_deviation_says_what_an_application_meets(deviation: Deviation) -> None:
    assert deviation.impact is not None
    assert deviation.effect.endswith(".")
    assert deviation.disputable


def test_every_entry_names_what_exists() -> None:
    check_known(LISTED, PACK.catalogue.requirements, {case.id for case in PACK.cases})


@pytest.mark.parametrize("path", sorted((MANIFEST.folder / "replays").glob("*.json")), ids=lambda path: path.stem)
def test_a_replay_records_what_is_listed_by_it_and_nothing_else(path: Path) -> None:
    listed = [(entry.requirement, entry.code) for entry in LISTED.entries if entry.replay == f"replays/{path.name}"]
    replay = read_replay(path.read_bytes(), str(path))
    assert sorted((breach.requirement, breach.code) for breach in replay.breaches) == sorted(listed)


def test_no_replay_is_left_over() -> None:
    named = {entry.replay for entry in LISTED.entries}
    there = {f"replays/{path.name}" for path in (MANIFEST.folder / "replays").iterdir()}
    assert there == named
