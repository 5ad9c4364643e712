"""Lists of known failures of schema 1, as they were released, still say what they said."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from assay_conformance.model.errors import UsageError
from assay_reports.expectations import Expectation, parse_expectations

GOLDEN = Path(__file__).parents[3] / "fixtures" / "golden" / "expectations"
FILES = sorted(GOLDEN.glob("*-1.0.toml"))
DEFAULTS: dict[str, Any] = {"occurs": "always", "excerpt": "", "replay": "", "link": "", "expires": None}

HEAD = 'schema = "1.0"\nagent = "pulsar-python"\ntested = "*"\n'
ENTRY = """
[[expect]]
requirement = "resend.keeps-order"
case = "{case}"
code = "out-of-order"
versions = "*"
reason = "{reason}"
"""


def said(entry: dict[str, Any]) -> dict[str, Any]:
    """What an entry of schema 1 says, with its defaults."""
    left_out = {**DEFAULTS, "leads_to": [], "stands_still": False}
    return {**left_out, **entry}


def key(entry: dict[str, Any]) -> tuple[str, ...]:
    return (entry["requirement"], entry["case"], entry["code"])


def says(entry: Expectation) -> dict[str, Any]:
    keys = ("requirement", "case", "code", "versions", "reason", "stands_still", *DEFAULTS)
    return {**{key: getattr(entry, key) for key in keys}, "leads_to": list(entry.leads_to)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_failure_of_a_released_list_is_still_listed_and_no_other(file: Path) -> None:
    text = file.read_text("utf-8")
    old = {key(entry): said(entry) for entry in tomllib.loads(text)["expect"]}
    new = {key(says(entry)): says(entry) for entry in parse_expectations(text, file.name).entries}
    assert new == old


def test_a_released_list_of_a_client_and_one_of_a_broker_are_kept() -> None:
    assert [file.name for file in FILES] == ["broker-1.0.toml", "client-1.0.toml"]


def test_entries_with_one_reason_are_one_deviation() -> None:
    text = HEAD + "".join(ENTRY.format(case=case, reason="By hash.") for case in ("resend/a", "resend/b"))
    (deviation,) = parse_expectations(text, "e.toml").deviations
    assert (deviation.id, deviation.title) == ("resend.keeps-order-out-of-order", "By hash")
    assert [seen.cases for seen in deviation.seen] == [("resend/a",), ("resend/b",)]


def test_entries_with_other_reasons_are_other_deviations_with_ids_of_their_own() -> None:
    text = HEAD + ENTRY.format(case="resend/a", reason="By hash.") + ENTRY.format(case="resend/b", reason="By id.")
    assert [one.id for one in parse_expectations(text, "e.toml").deviations] == [
        "resend.keeps-order-out-of-order",
        "resend.keeps-order-out-of-order-2",
    ]


def test_deviation_of_an_old_list_is_not_rated() -> None:
    (deviation,) = parse_expectations(HEAD + ENTRY.format(case="resend/a", reason="By hash."), "e.toml").deviations
    assert deviation.impact is None


MISTAKES = {
    "unknown key": ('reason = "By hash."', 'because = "x"', r"\[\[expect\]\] number 1: unknown key 'because'"),
    "no reason": (
        'reason = "By hash."',
        'reason = ""',
        r"\[\[expect\]\] number 1: 'reason' is '', expected a sentence",
    ),
    "no Case": ('case = "resend/a"\n', "", r"\[\[expect\]\] number 1: 'case' is missing"),
    "wildcard": ("resend/a", "resend/*", r"'cases' is \['resend/\*'\], expected a list of Case ids"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_in_an_old_list_is_one_sentence(mistake: str) -> None:
    old, new, expected = MISTAKES[mistake]
    text = HEAD + ENTRY.format(case="resend/a", reason="By hash.").replace(old, new)
    with pytest.raises(UsageError, match=expected):
        parse_expectations(text, "e.toml")
