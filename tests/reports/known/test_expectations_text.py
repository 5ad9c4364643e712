"""What is written of a list reads as the list."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.model.requirement import RequirementId
from assay_reports.deviations import Deviation, Occurs, Seen
from assay_reports.expectations import Expectations, parse_expectations
from assay_reports.expectations_text import render
from assay_reports.impact import Impact

PLACE = Seen(requirement=RequirementId("resend.keeps-order"), code="lost", cases=("resend/cut",))
EVERY_KEY = Deviation(
    id="hash-order",
    title="Order",
    versions="*",
    reason="One paragraph.\n\n" + " ".join(40 * ["Another one that is long."]),
    impact=Impact.LOST,
    effect="Messages may be lost.",
    excerpt="SEND 2, SEND 1",
    disputable="No.",
    link="https://x",
    expires=date(2027, 1, 31),
    stands_still=True,
    security="security@example.org",
    seen=(
        Seen(
            requirement=RequirementId("resend.keeps-order"),
            code="lost",
            cases=tuple(f"resend/case-{number}" for number in range(20)),
            occurs=Occurs.SOMETIMES,
            note="Under load.",
            excerpt="SEND 3",
            versions="==3.*",
            replay="replays/*.json",
            trigger="t.json",
            leads_to=("a.b: c",),
            stands_still=False,
        ),
    ),
)


def listed(*deviations: Deviation) -> Expectations:
    return Expectations(agent="pulsar-python", tested="*", deviations=deviations, where="e.toml")


@pytest.mark.parametrize("broker", ["", "Apache Pulsar"])
def test_every_key_is_written(broker: str) -> None:
    agent = "" if broker else "pulsar-python"
    mine = Expectations(agent=agent, broker=broker, tested=">=3", deviations=(EVERY_KEY,), where="e.toml")
    assert parse_expectations(render(mine), "e.toml") == mine


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_any_text_is_written_so_that_it_reads_the_same(reason: str, title: str) -> None:
    one = Deviation(id="x", title=title, versions="*", reason=reason, seen=(PLACE,))
    assert parse_expectations(render(listed(one)), "e.toml") == listed(one)


def test_lines_are_no_longer_than_the_page() -> None:
    prose = "\n\n".join(" ".join(30 * ["words"]) for _ in range(3))
    one = Deviation(id="x", title="t", versions="*", reason=prose, seen=(PLACE,))
    assert max(map(len, render(listed(one)).splitlines())) <= 120


def test_comment_stands_in_front() -> None:
    assert render(listed(), "# Mine.\n").startswith('# Mine.\nschema = "2.0"\n')
