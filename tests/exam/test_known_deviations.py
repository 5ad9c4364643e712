"""A real client's deviation is listed only with evidence: a replay that shows it, and an honest client that passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay_conformance.history.events import grouped
from assay_conformance.model.needs import means
from assay_conformance.model.outside import Means
from assay_conformance.model.verdict import Verdict
from assay_fixtures.agents.manifest import find
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial
from assay_fixtures.runner.cells import cell_ids
from assay_reports.deviations import Deviation
from assay_reports.expectations import Expectation, check_known, read_expectations
from assay_reports.replay import Replay, read_replay

MANIFEST = find("pulsar-python")
LISTED = read_expectations(MANIFEST.expectations)
PACK = load_packs()


def _name(entry: Expectation) -> str:
    return f"{entry.requirement} in {entry.case}"


def _replay(path: Path) -> Replay:
    return read_replay(path.read_bytes(), str(path))


def test_listed_failures_have_their_replays() -> None:
    """One for all Cases in which a cause is seen in the same way."""
    for path, entries in grouped(LISTED.entries, lambda entry: entry.replay).items():
        case = _replay(MANIFEST.folder / path).case.id
        assert any(one.is_about(case) for one in entries), path


def test_listed_failures_have_reason_and_wire_excerpt() -> None:
    assert [_name(one) for one in LISTED.entries if len(one.reason) <= 40 or not one.excerpt] == []


@pytest.mark.few(60)
@pytest.mark.parametrize("path", sorted((MANIFEST.folder / "replays").glob("*.json")), ids=lambda path: path.stem)
def test_an_honest_client_passes_the_replayed_case(path: Path) -> None:
    replay = _replay(path)
    if not means(replay.case) <= {Means.FRAMES}:
        return  # shown where its means are: tests/real
    verdicts = {j.requirement: j.verdict for j in ReferenceTrial().in_virtual_time(replay.case).judgements}
    # Some a client only comes to by what it did wrong before: those nobody asks an honest one for.
    asked = {*replay.case.requirements, *(breach.requirement for breach in replay.breaches)} & verdicts.keys()
    assert asked
    assert {requirement: verdicts[requirement] for requirement in asked} == dict.fromkeys(asked, Verdict.PASS)


def _says_what_it_does(deviation: Deviation) -> bool:
    return deviation.impact is not None and deviation.effect.endswith(".") and bool(deviation.disputable)


def test_deviations_say_what_an_application_meets() -> None:
    assert [one.id for one in LISTED.deviations if not _says_what_it_does(one)] == []


def test_every_entry_names_what_exists() -> None:
    check_known(LISTED, PACK.catalogue.requirements, {case.id for case in PACK.cases} | cell_ids())


def test_replays_record_what_is_listed_by_them_and_nothing_else() -> None:
    listed: dict[str, set[tuple[str, str]]] = {}
    for entry in LISTED.entries:
        listed.setdefault(entry.replay, set()).add((entry.requirement, entry.code))
    for path in (MANIFEST.folder / "replays").glob("*.json"):
        recorded = [(breach.requirement, breach.code) for breach in _replay(path).breaches]
        assert sorted(recorded) == sorted(listed.get(f"replays/{path.name}", ())), path.stem


def test_no_replay_is_left_over() -> None:
    named = {entry.replay for entry in LISTED.entries}
    there = {f"replays/{path.name}" for path in (MANIFEST.folder / "replays").iterdir()}
    assert there == named
