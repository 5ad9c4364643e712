"""Dispositions: an entry says what becomes of it, and why when that is not a test."""

from __future__ import annotations

import pytest

from assay_conformance.catalogue import parse
from assay_conformance.model.errors import UsageError
from assay_conformance.model.requirement import Requirement
from assay_conformance.model.verdict import Verdict, broken

ENTRY = """
["ack.example"]
row = "ACK-001"
title = "An example"
side = "client"
clause = "Something must hold."
sources = []
"""
TESTED = 'disposition = "tested"'
OBSERVED = 'disposition = "observed"\nreason = "Clients differ."'
LEVER = 'lever = "A held store: clients do not see it."'
NOT_TESTABLE = f'disposition = "not-testable"\nreason = "Nobody asks for it."\n{LEVER}'


def stated(disposition: str, level: str = "MUST", status: str = "documented") -> Requirement:
    (one,) = parse(
        {"ack.toml": f'{ENTRY}level = "{level}"\nstatus = "{status}"\n{disposition}\n'}
    ).requirements.values()
    return one


@pytest.mark.parametrize(
    ("disposition", "sentence"),
    [
        ("", "missing required field `disposition`"),
        ('disposition = "observed"', "disposition 'observed': expected a `reason`, why it is not tested"),
        ('disposition = "not-testable"', "disposition 'not-testable': expected a `reason`"),
        (f'{TESTED}\nreason = "It is."', "disposition 'tested': expected no `reason`"),
        (OBSERVED, "disposition 'observed': expected of a MAY or a disputed clause, this is a MUST"),
        (f"{TESTED}\n{LEVER}", "disposition 'tested': expected no `lever`"),
        (f"{OBSERVED}\n{LEVER}", "disposition 'observed': expected no `lever`"),
        (
            'disposition = "not-testable"\nreason = "Nobody asks for it."',
            "disposition 'not-testable': expected a `lever`, what was tried in vain",
        ),
        ('disposition = "later"', "Invalid enum value 'later'"),
    ],
)
def test_entry_that_does_not_say_what_becomes_of_it_is_refused(disposition: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as refused:
        stated(disposition)
    assert str(refused.value).startswith("ack.toml: 'ack.example': ")


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (stated(TESTED), Verdict.FAIL),
        (stated(TESTED, "SHOULD"), Verdict.WARN),
        (stated(OBSERVED, "MAY"), Verdict.INFO),
        (stated(OBSERVED, status="disputed"), Verdict.INFO),
    ],
)
def test_breach_of_what_is_observed_only_counts_against_nobody(one: Requirement, verdict: Verdict) -> None:
    assert broken(one) is verdict


def test_what_is_not_testable_is_in_no_profile() -> None:
    profile = '[all]\ntitle = "All"\ncapabilities = []\nabout = []\nchapters = ["ack"]\n'
    level = 'level = "MUST"\nstatus = "documented"\n'
    known = parse({"ack.toml": f"{ENTRY}{level}{NOT_TESTABLE}\n", "profiles.toml": profile})
    assert known.members(known.profiles["all"]) == ()
