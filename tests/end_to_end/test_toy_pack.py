"""A requirement pack of another distribution goes the way ours goes: loaded, run, judged, reported."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.running import HERE, command_line

from assay_conformance import catalogue
from assay_conformance.checks.base import Check
from assay_conformance.model.case import Case
from assay_conformance.model.errors import UsageError
from assay_fixtures.packs import Pack, merge, own_pack

TOY = HERE / "toy_pack"


def assay(*arguments: str, plug_ins: Path = TOY) -> subprocess.CompletedProcess[str]:
    """The command, with the distributions in that folder installed."""
    environment = {**os.environ, "PYTHONPATH": str(plug_ins)}
    return subprocess.run(
        command_line(*arguments), env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any]]:
    """Exit code and verdicts of a run of the toy Case."""
    runs = tmp_path_factory.mktemp("toy") / "runs"
    told = assay("certify", "reference", "--select", "toy", "--run-dir", str(runs), "--strict", "--json")
    return told.returncode, json.loads(told.stdout)


def test_its_requirement_is_judged_by_its_check_in_its_case(certified: tuple[int, dict[str, Any]]) -> None:
    _, document = certified
    (row,) = (row for row in document["requirements"] if row["requirement"] == "toy.keeps-messages-small")
    assert (row["verdict"], row["exercised"], row["cases"]) == ("warn", 2, ["toy/small-and-large"])
    assert [finding["sentence"] for finding in row["findings"]] == [
        "an entry of 1000 bytes was stored, expected at most 100"
    ]


def test_its_case_is_the_only_one_selected_by_its_chapter(certified: tuple[int, dict[str, Any]]) -> None:
    _, document = certified
    assert {cell["case"] for cell in document["cells"]} == {"toy/small-and-large"}


def test_its_broken_should_counts_as_any_other(certified: tuple[int, dict[str, Any]]) -> None:
    assert certified[0] == 1


def test_our_checks_see_its_case_too(certified: tuple[int, dict[str, Any]]) -> None:
    _, document = certified
    verdicts = {row["requirement"]: row["verdict"] for row in document["requirements"]}
    assert verdicts["connection.handshake-first"] == "pass"


def test_list_shows_it_beside_ours() -> None:
    listed = {entry["id"] for entry in json.loads(assay("list", "requirements", "--json").stdout)}
    assert {"toy.keeps-messages-small", "ordering.keeps-send-order"} <= listed


def test_without_it_nothing_knows_it(tmp_path: Path) -> None:
    told = assay("certify", "reference", "--select", "toy", "--run-dir", str(tmp_path / "runs"), plug_ins=tmp_path)
    assert told.returncode == 2
    assert told.stderr == (
        "assay: 'toy' is no Case, requirement, chapter, profile or capability; `assay list` shows them\n"
    )


def test_pack_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[assay.requirements]\nbroken = no_such_module:PACK\n")
    told = assay("list", "requirements", plug_ins=tmp_path)
    assert told.returncode == 2
    assert told.stderr == (
        "assay: entry point 'broken' of group assay.requirements: no_such_module:PACK cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_module'\n"
    )


# --- ids --------------------------------------------------------------------------------------------------------------

REQUIREMENT = """
["{id}"]
row = "TOY-002"
title = "A title"
level = "MUST"
side = "client"
status = "documented"
disposition = "tested"
clause = "A clause."
sources = [{{ name = "A source" }}]
"""


def pack(requirement: str = "toy.holds", case: str = "toy/case", capability: str = "toy/plays") -> Pack:
    documents = {"toy.toml": REQUIREMENT.format(id=requirement), "capabilities.toml": f'["{capability}"]\nmeaning = ""'}
    checks: Mapping[str, type[Check]] = {requirement: Check}
    case_of_it = Case(id=case, title="A Case", requirements=(), steps=())
    return Pack("toy", catalogue.parse(documents), checks, (case_of_it,))


def test_ids_with_the_prefix_are_taken() -> None:
    merged = merge([own_pack(), pack()])
    assert "toy.holds" in merged.catalogue.requirements
    assert "toy/plays" in merged.catalogue.capabilities
    assert "toy/case" in {case.id for case in merged.cases}


@pytest.mark.parametrize(
    ("kind", "id"),
    [
        ("requirement", "ordering.holds"),
        ("requirement", "toyish.holds"),
        ("case", "resend/case"),
        ("capability", "plays"),
    ],
)
def test_id_without_the_prefix_is_refused(kind: str, id: str) -> None:
    with pytest.raises(UsageError, match=f"^requirement pack 'toy': id '{id}' does not carry its prefix$"):
        merge([own_pack(), pack(**{kind: id})])


def test_requirement_without_a_check_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^requirement pack 'toy': 'toy\.holds' has no check$"):
        merge([own_pack(), replace(pack(), checks={})])


def test_check_of_what_a_pack_does_not_state_is_refused() -> None:
    toy = pack()
    with pytest.raises(
        UsageError, match=r"^requirement pack 'toy': a check for 'toy\.other', which it does not state$"
    ):
        merge([own_pack(), replace(toy, checks={**toy.checks, "toy.other": toy.checks["toy.holds"]})])


def test_requirement_stated_by_two_packs_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'toy\.holds' is stated twice"):
        merge([own_pack(), pack(), pack()])
