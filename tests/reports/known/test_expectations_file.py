"""expectations.toml: what it says, and one sentence for every mistake in it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from assay_conformance.model.errors import UsageError
from assay_reports.expectations import (
    Expectations,
    Occurs,
    check_known,
    in_range,
    none_expected,
    parse_expectations,
    read_expectations,
)

HEAD = 'schema = "1.0"\nagent = "pulsar-python"\ntested = ">=3.5,<3.14"\n'
ENTRY = {
    "requirement": '"resend.keeps-order"',
    "case": '"resend/cut"',
    "code": '"out-of-order"',
    "versions": '">=3.5,<4"',
    "reason": '"resends by hash order"',
}


def entry(**changed: str | None) -> str:
    fields = {**ENTRY, **changed}
    return "[[expect]]\n" + "".join(f"{key} = {value}\n" for key, value in fields.items() if value is not None)


def parse(text: str) -> Expectations:
    return parse_expectations(text, "expectations.toml")


def test_file_of_a_broker_names_the_broker() -> None:
    known = parse(HEAD.replace('agent = "pulsar-python"', 'broker = "Apache Pulsar"') + entry())
    assert (known.broker, known.agent) == ("Apache Pulsar", "")


def test_file_of_a_client_and_a_broker_is_refused() -> None:
    with pytest.raises(UsageError, match="either 'agent' or 'broker'"):
        parse(HEAD + 'broker = "Apache Pulsar"\n' + entry())


def test_every_key_of_an_entry_is_read() -> None:
    told = entry(
        occurs='"sometimes"', excerpt='"SEND 2, SEND 1"', replay='"cut.json"', link='"https://x"', expires="2027-01-31"
    )
    (read,) = parse(HEAD + told).entries
    assert (read.requirement, read.case, read.code) == ("resend.keeps-order", "resend/cut", "out-of-order")
    assert (read.occurs, read.expires, read.replay) == (Occurs.SOMETIMES, date(2027, 1, 31), "cut.json")


def test_what_a_failure_leads_to_is_read() -> None:
    (read,) = parse(HEAD + entry(leads_to='["resend.unreceipted-again: lost"]')).entries
    assert read.consequences == (("resend.unreceipted-again", "lost"),)


def test_whether_the_client_stands_still_is_read() -> None:
    assert [parse(HEAD + entry(**words)).entries[0].stands_still for words in ({}, {"stands_still": "true"})] == [
        False,
        True,
    ]


def test_left_out_occurs_means_always() -> None:
    assert parse(HEAD + entry()).entries[0].occurs is Occurs.ALWAYS


def test_file_without_entries_expects_nothing() -> None:
    assert parse(HEAD).entries == ()


MISTAKES: dict[str, tuple[str, str, str]] = {
    "no TOML": ("schema = ", "expectations.toml", "is not TOML"),
    "no schema": ('agent = "a"\ntested = "*"\n', "'schema'", 'expected "1.0"'),
    "newer schema": (HEAD.replace("1.0", "2.0"), "'schema' is '2.0'", "expected 1.x"),
    "no agent": ('schema = "1.0"\ntested = "*"\n', "'agent' is missing", "expected the id of the agent"),
    "bad range": (HEAD.replace(">=3.5,<3.14", "3.x"), "'tested' is '3.x'", "expected a PEP 440 version range"),
    "unknown key": (HEAD + 'foo = "x"\n', "unknown key 'foo'", "expected one of agent"),
    "unknown entry key": (HEAD + entry(note='"x"'), "number 1: unknown key 'note'", "expected one of"),
    "missing reason": (HEAD + entry(reason=None), "number 1: 'reason' is missing", "expected a sentence"),
    "empty reason": (HEAD + entry(reason='" "'), "'reason' is ' '", "expected a sentence"),
    "missing versions": (HEAD + entry(versions=None), "'versions' is missing", "expected a version range"),
    "number for a case": (HEAD + entry(case="7"), "'case' is 7", "expected one Case id"),
    "wildcard case": (HEAD + entry(case='"resend/*"'), "'case' is 'resend/*'", "wildcards are for versions"),
    "wildcard requirement": (HEAD + entry(requirement='"*"'), "'requirement' is '*'", "wildcards are for versions"),
    "wildcard code": (HEAD + entry(code='"*"'), "'code' is '*'", "wildcards are for versions"),
    "strange occurs": (HEAD + entry(occurs='"often"'), "'occurs' is 'often'", 'expected "always" or "sometimes"'),
    "wildcard it leads to": (HEAD + entry(leads_to='["resend.x: *"]'), "'leads_to' is ['resend.x: *']", "a list of"),
    "text it leads to": (HEAD + entry(leads_to='"resend.x: lost"'), "'leads_to' is 'resend.x: lost'", "a list of"),
    "word for a standstill": (HEAD + entry(stands_still='"yes"'), "'stands_still' is 'yes'", "true or false"),
    "quoted date": (HEAD + entry(expires='"2027-01-31"'), "'expires' is '2027-01-31'", "expected a date"),
    "date and time": (HEAD + entry(expires="2027-01-31T00:00:00"), "'expires'", "expected a date"),
    "entry as table": (HEAD + "[expect]\n", '"expect" is {}', "expected [[expect]] tables"),
    "listed twice": (HEAD + entry() + entry(), "number 2", "expected each failure once, number 1"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_one_sentence_with_key_and_expected(mistake: str) -> None:
    text, key, expected = MISTAKES[mistake]
    with pytest.raises(UsageError) as caught:
        parse(text)
    sentence = str(caught.value)
    assert sentence.startswith("expectations.toml: ")
    assert key in sentence
    assert expected in sentence
    assert "\n" not in sentence


def test_missing_file_is_a_usage_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.toml: cannot be read: No such file or directory; expected a list"):
        read_expectations(tmp_path / "nowhere.toml")


def test_unknown_requirement_is_a_usage_error_with_the_closest() -> None:
    with pytest.raises(UsageError, match=r"'requirement' is 'resend.keeps-order'.*did you mean 'resend.keep-order'"):
        check_known(parse(HEAD + entry()), ["resend.keep-order"], ["resend/cut"])


def test_unknown_case_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"number 1: 'case' is 'resend/cut', expected the id of a case"):
        check_known(parse(HEAD + entry()), ["resend.keeps-order"], ["ack/other"])


def test_unknown_requirement_it_leads_to_is_a_usage_error() -> None:
    text = HEAD + entry(leads_to='["resend.nothing: lost"]')
    with pytest.raises(UsageError, match=r"number 1: 'leads_to' is 'resend.nothing', expected the id of a requirement"):
        check_known(parse(text), ["resend.keeps-order"], ["resend/cut"])


def test_known_ids_are_accepted() -> None:
    check_known(parse(HEAD + entry()), ["resend.keeps-order"], ["resend/cut"])


@pytest.mark.parametrize(
    ("version", "versions", "inside"),
    [
        ("3.13.0", "*", True),
        ("3.13.0", ">=3.5,<3.14", True),
        ("3.14.0", ">=3.5,<3.14", False),
        ("3.13.2", "==3.13.*", True),
        ("3.13.0rc1", ">=3.5", True),
        ("built-here", ">=3.5", False),
        ("built-here", "*", True),
    ],
)
def test_version_ranges(version: str, versions: str, inside: bool) -> None:
    assert in_range(version, versions) is inside


def test_tested_range_tells_versions_beyond_it() -> None:
    known = parse(HEAD)
    assert known.covers("3.13.0")
    assert not known.covers("3.14.1")


def test_client_without_file_expects_nothing_of_any_version() -> None:
    assert none_expected("x").covers("0.1")
    assert not none_expected("x").entries


def test_example_in_the_guide_is_read() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "read-a-report.md").read_text("utf-8")
    example = guide.partition("```toml\n")[2].partition("```")[0]
    (read,) = parse(example).entries
    assert (read.code, read.expires) == ("not-delivered", date(2027, 6, 30))
