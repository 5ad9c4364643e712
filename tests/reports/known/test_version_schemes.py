"""Versions in the order of their schemes, and ranges of them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from assay_reports.version_schemes import SCHEMES, alike, inside

IN_ORDER = {
    "pep440": ("3.12.0", "3.13.0rc1", "3.13.0", "3.13.1"),
    "semver": (
        "v0.0.0-20240101000000-abcdefabcdef",
        "0.12.1",
        "0.13.0-alpha",
        "0.13.0-alpha.1",
        "0.13.0-alpha.beta",
        "0.13.0-rc.2",
        "0.13.0-rc.11",
        "v0.13.0",
        "v0.13.1-0.20240729101112-abcdefabcdef",
        "0.13.1",
        "0.21.0",
    ),
    "maven": (
        "3.0.0-alpha-1",
        "3.0.0-beta1",
        "3.0.0-M2",
        "3.0.0-rc1",
        "3.0.0-SNAPSHOT",
        "3.0",
        "3.0.0-sp",
        "3.0.0-jre8",
        "3.0.0.1",
        "3.0.1",
        "3.0.10",
        "4.2.4",
    ),
}
ALIKE = (
    ("semver", "v1.2.3", "1.2.3+incompatible"),
    ("maven", "3.0.0", "3.0.0.Final"),
    ("maven", "3.0-rc1", "3.0.0-CR1"),
)


@pytest.mark.parametrize(
    ("scheme", "older", "newer"), [(s, *two) for s, all in IN_ORDER.items() for two in pairwise(all)]
)
def test_versions_stand_in_the_order_of_their_scheme(scheme: str, older: str, newer: str) -> None:
    parse = SCHEMES[scheme].parse
    assert parse(older) < parse(newer)


@pytest.mark.parametrize(("scheme", "one", "other"), ALIKE)
def test_two_spellings_of_one_version_are_alike(scheme: str, one: str, other: str) -> None:
    assert alike(scheme, one, other)


@pytest.mark.parametrize(
    ("one", "other", "same"), [("1.2.3", "1.2.4", False), ("here", "here", True), ("here", "1.2.3", False)]
)
def test_other_versions_and_what_is_none_are_alike_only_to_themselves(one: str, other: str, same: bool) -> None:
    assert alike("semver", one, other) is same


@pytest.mark.parametrize(
    ("scheme", "version", "within", "lies_in_it"),
    [
        ("semver", "0.21.0", ">=0.12.1,<=0.21.0", True),
        ("semver", "v0.21.1-0.20260101000000-abcdefabcdef", ">=0.12.1,<=0.21.0", False),
        ("semver", "0.21.0", "!=0.21.0", False),
        ("semver", "0.21.0", "", True),
        ("semver", "built-here", ">=0.1.0", False),
        ("maven", "4.2.4", ">=3.0,<5", True),
        ("maven", "5.0.0-M1", ">=3.0,<5", True),
        ("maven", "4.2.4", "==4.2.4", True),
        ("pep440", "3.13.2", "==3.13.*", True),
    ],
)
def test_a_range_takes_what_its_comparisons_take(scheme: str, version: str, within: str, lies_in_it: bool) -> None:
    assert inside(scheme, version, within) is lies_in_it


@pytest.mark.parametrize(
    ("scheme", "text"), [("semver", "1.2"), ("semver", "01.2.3"), ("maven", "1..2"), ("maven", "-1")]
)
def test_what_is_no_version_of_the_scheme_is_refused(scheme: str, text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        SCHEMES[scheme].parse(text)


@pytest.mark.parametrize("text", ["0.1.0", ">=0.1.0;<2.0.0", "~0.1.0", ">=one", ","])
def test_what_is_no_list_of_comparisons_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        SCHEMES["semver"].ranges(text)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_example_of_a_range_is_one(scheme: str) -> None:
    SCHEMES[scheme].ranges(SCHEMES[scheme].range_example)
