"""docs/findings.md has whatever is listed and may be published, and certify shows what it says that certify shows."""

from __future__ import annotations

from bench.by_version import PAGE, Shown, kept, listed, page, rows, section

from assay_conformance.model.requirement import Disposition, RequirementId
from assay_fixtures.agents import manifest
from assay_fixtures.packs import load_packs
from assay_fixtures.runner.selection import select
from assay_reports.deviations import Occurs
from assay_reports.expectations import Expectation

ENTRY = Expectation(
    requirement=RequirementId("chunking.releases-queue-and-memory"),
    case="generated/x",
    code="stuck",
    versions="*",
    reason="r",
)


def test_versions_stand_beside_each_other_from_the_oldest_on() -> None:
    first, *_, last = (one.version for one in kept())
    assert (first, last) == ("3.4.0", "3.13.0")


def test_a_version_that_shows_nothing_of_it_has_an_empty_place() -> None:
    found = [Shown("1.0", {"flow.max-pending-across-partitions": {"late": 2}}), Shown("1.1", {})]
    assert "| `flow.max-pending-across-partitions` | `late` | 2 |  |" in section(found, ())


def test_what_no_run_showed_stands_in_a_table_of_its_own() -> None:
    assert "| `chunking.releases-queue-and-memory` | `stuck` | `*` | a generated Case |" in section([], [ENTRY])
    assert "`*`" not in section([Shown("1.0", {"chunking.releases-queue-and-memory": {"stuck": 1}})], [ENTRY])


def test_whatever_certify_always_shows_has_a_row() -> None:
    packs, facts = load_packs(), manifest.find("pulsar-python").facts("3.13.0")
    run = {case.id for case in select(packs.cases, facts, packs.catalogue).run}
    always = {
        (str(entry.requirement), entry.code)
        for entry in listed().entries
        if entry.occurs is Occurs.ALWAYS
        and (entry.case in run or entry.case.startswith("@"))
        # What is observed counts against nobody, and has no row.
        and packs.catalogue.requirements[entry.requirement].disposition is Disposition.TESTED
    }
    assert always - set(rows(kept())) == set()


def test_the_page_says_what_is_listed_and_kept() -> None:
    assert PAGE.read_text("utf-8") == page(kept(), listed()), "python -m bench.by_version writes it"


def test_the_page_begins_with_what_an_application_may_meet() -> None:
    heads = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("## ")]
    assert heads == ["## What your application may meet", "## The causes", "## By version"]


SECURITY = [one for one in listed().deviations if one.security]


def test_security_deviations_are_not_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    words = [word for one in SECURITY for word in (one.title, one.id, one.reason[:60])]
    assert SECURITY
    assert [word for word in words if word in text] == []


def test_what_only_a_security_deviation_shows_has_no_row() -> None:
    open_ones = {(seen.requirement, seen.code) for one in listed().deviations if not one.security for seen in one.seen}
    hidden = {(seen.requirement, seen.code) for one in SECURITY for seen in one.seen} - open_ones
    text = PAGE.read_text("utf-8")
    assert hidden
    assert [pair for pair in hidden if f"| `{pair[0]}` | `{pair[1]}` |" in text] == []


def test_a_security_deviation_is_on_the_page_when_its_id_is_named() -> None:
    one, *others = SECURITY
    text = page(kept(), listed(), {one.id})
    assert f"### {one.title}" in text
    assert [other.title for other in others if other.title in text] == []
