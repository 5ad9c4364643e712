"""expectations.toml: what it says, and one sentence for every mistake in it."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from assay_conformance.model.errors import UsageError
from assay_reports.deviations import Occurs, in_range
from assay_reports.expectations import Expectations, check_known, none_expected, parse_expectations, read_expectations
from assay_reports.impact import Impact

HEAD = 'schema = "2.0"\nagent = "pulsar-python"\ntested = ">=3.5,<3.14"\n'
CAUSE = {
    "id": '"hash-order"',
    "title": '"Messages are sent again by hash order"',
    "versions": '">=3.5,<4"',
    "reason": '"resends by hash order"',
}
PLACE = {"requirement": '"resend.keeps-order"', "code": '"out-of-order"', "cases": '["resend/cut"]'}


def table(name: str, fields: dict[str, str | None]) -> str:
    return f"[[{name}]]\n" + "".join(f"{key} = {value}\n" for key, value in fields.items() if value is not None)


def cause(**changed: str | None) -> str:
    """A deviation with one place."""
    return table("deviation", {**CAUSE, **changed}) + table("deviation.seen", {**PLACE})


def place(**changed: str | None) -> str:
    """A deviation whose only place is changed."""
    return table("deviation", {**CAUSE}) + table("deviation.seen", {**PLACE, **changed})


def parse(text: str) -> Expectations:
    return parse_expectations(text, "expectations.toml")


def test_file_of_a_broker_names_the_broker() -> None:
    known = parse(HEAD.replace('agent = "pulsar-python"', 'broker = "Apache Pulsar"') + cause())
    assert (known.broker, known.agent) == ("Apache Pulsar", "")


def test_file_of_a_client_and_a_broker_is_refused() -> None:
    with pytest.raises(UsageError, match="either 'agent' or 'broker'"):
        parse(HEAD + 'broker = "Apache Pulsar"\n' + cause())


def test_every_key_of_a_deviation_is_read() -> None:
    text = cause(
        impact='"out of order"',
        effect='"Messages may come in another order."',
        excerpt='"SEND 2, SEND 1"',
        disputable='"No."',
        link='"https://x"',
        expires="2027-01-31",
        stands_still="true",
        security='"security@example.org"',
    )
    (read,) = parse(HEAD + text).deviations
    assert (read.id, read.impact, read.effect) == (
        "hash-order",
        Impact.OUT_OF_ORDER,
        "Messages may come in another order.",
    )
    assert (read.disputable, read.expires, read.stands_still) == ("No.", date(2027, 1, 31), True)
    assert (read.security, read.link) == ("security@example.org", "https://x")


def test_every_key_of_a_place_is_read() -> None:
    text = place(
        occurs='"sometimes"',
        note='"Under load."',
        excerpt='"SEND 3"',
        versions='"*"',
        replay='"cut.json"',
        trigger='"triggers/cut.json"',
        leads_to='["resend.pending-sends-resent: lost"]',
        stands_still="true",
    )
    (read,) = parse(HEAD + text).entries
    assert (read.requirement, read.case, read.code) == ("resend.keeps-order", "resend/cut", "out-of-order")
    assert (read.occurs, read.versions, read.replay) == (Occurs.SOMETIMES, "*", "cut.json")
    assert (read.trigger, read.stands_still, read.excerpt) == ("triggers/cut.json", True, "SEND 3")
    assert read.reason == "resends by hash order Under load."
    assert read.consequences == (("resend.pending-sends-resent", "lost"),)


def test_each_case_of_a_place_is_an_expected_failure() -> None:
    entries = parse(HEAD + place(cases='["resend/cut", "@batched"]')).entries
    assert [entry.case for entry in entries] == ["resend/cut", "@batched"]


def test_place_has_what_its_deviation_says_unless_it_says_otherwise() -> None:
    (read,) = parse(HEAD + cause(excerpt='"SEND 2"', stands_still="true", expires="2027-01-31")).entries
    assert (read.versions, read.excerpt, read.stands_still) == (">=3.5,<4", "SEND 2", True)
    assert (read.expires, read.deviation) == (date(2027, 1, 31), "hash-order")


def test_place_may_say_that_less_shows_there_than_elsewhere() -> None:
    lesser: dict[str, str | None] = {**PLACE, "cases": '["resend/late"]', "impact": '"wire only"'}
    text = cause(impact='"lost"') + table("deviation.seen", lesser)
    assert [entry.impact for entry in parse(HEAD + text).entries] == [Impact.LOST, Impact.WIRE_ONLY]


def test_star_in_the_name_of_a_replay_file_is_the_case() -> None:
    entries = parse(HEAD + place(cases='["resend/cut", "ack/late"]', replay='"replays/*.json"')).entries
    assert [entry.replay for entry in entries] == ["replays/resend--cut.json", "replays/ack--late.json"]


def test_left_out_occurs_means_always() -> None:
    assert parse(HEAD + cause()).entries[0].occurs is Occurs.ALWAYS


def test_deviation_without_impact_is_not_rated() -> None:
    assert parse(HEAD + cause()).deviations[0].impact is None


def test_file_without_deviations_expects_nothing() -> None:
    assert parse(HEAD).entries == ()


MISTAKES: dict[str, tuple[str, str, str]] = {
    "no TOML": ("schema = ", "expectations.toml", "is not TOML"),
    "no schema": ('agent = "a"\ntested = "*"\n', "'schema'", 'expected "2.0"'),
    "newer schema": (HEAD.replace("2.0", "3.0"), "'schema' is '3.0'", "expected at most 2.x"),
    "schema nought": (HEAD.replace("2.0", "0.1"), "'schema' is '0.1'", "expected at most 2.x"),
    "no agent": ('schema = "2.0"\ntested = "*"\n', "'agent' is missing", "expected the id of the agent"),
    "bad range": (HEAD.replace(">=3.5,<3.14", "3.x"), "'tested' is '3.x'", "expected a PEP 440 version range"),
    "unknown key": (HEAD + 'foo = "x"\n', "unknown key 'foo'", "expected one of agent"),
    "entries of schema 1": (HEAD + table("expect", {"code": '"x"'}), "unknown key 'expect'", "expected one of agent"),
    "unknown key of a cause": (HEAD + cause(foo='"x"'), "deviation hash-order: unknown key 'foo'", "expected one of"),
    "unknown key of a place": (HEAD + place(foo='"x"'), "[[deviation.seen]] number 1: unknown key 'foo'", "one of"),
    "missing id": (HEAD + cause(id=None), "[[deviation]] number 1: 'id' is missing", "a name of its own"),
    "id in words": (HEAD + cause(id='"Hash order"'), "'id' is 'Hash order'", "lower case with dashes"),
    "id twice": (HEAD + cause() + cause(), "number 2: 'id' is 'hash-order'", "expected each id once"),
    "missing title": (HEAD + cause(title=None), "'title' is missing", "expected a title"),
    "missing reason": (HEAD + cause(reason=None), "deviation hash-order: 'reason' is missing", "expected a sentence"),
    "empty reason": (HEAD + cause(reason='" "'), "'reason' is ' '", "expected a sentence"),
    "missing versions": (HEAD + cause(versions=None), "'versions' is missing", "expected a version range"),
    "unknown impact": (HEAD + cause(impact='"bad"'), "'impact' is 'bad'", 'expected "lost", "corrupted", '),
    "word for a standstill": (HEAD + cause(stands_still='"yes"'), "'stands_still' is 'yes'", "true or false"),
    "flag for the contact": (HEAD + cause(security="true"), "'security' is True", "the contact to report it to first"),
    "quoted date": (HEAD + cause(expires='"2027-01-31"'), "'expires' is '2027-01-31'", "expected a date"),
    "date and time": (HEAD + cause(expires="2027-01-31T00:00:00"), "'expires'", "expected a date"),
    "cause without a place": (HEAD + table("deviation", {**CAUSE}), "deviation hash-order", "[[deviation.seen]]"),
    "no Cases": (HEAD + place(cases="[]"), "'cases' is []", "a list of Case ids"),
    "missing Cases": (HEAD + place(cases=None), "'cases' is missing", "a list of Case ids"),
    "text for Cases": (HEAD + place(cases='"resend/cut"'), "'cases' is 'resend/cut'", "a list of Case ids"),
    "number for a Case": (HEAD + place(cases="[7]"), "'cases' is [7]", "a list of Case ids"),
    "wildcard Case": (HEAD + place(cases='["resend/*"]'), "'cases' is ['resend/*']", "wildcards are for versions"),
    "Case twice": (HEAD + place(cases='["a/b", "a/b"]'), "'cases' is ['a/b', 'a/b']", "each of them once"),
    "wildcard requirement": (HEAD + place(requirement='"*"'), "'requirement' is '*'", "wildcards are for versions"),
    "wildcard code": (HEAD + place(code='"*"'), "'code' is '*'", "wildcards are for versions"),
    "strange occurs": (HEAD + place(occurs='"often"'), "'occurs' is 'often'", 'expected "always" or "sometimes"'),
    "wildcard it leads to": (HEAD + place(leads_to='["resend.x: *"]'), "'leads_to' is ['resend.x: *']", "a list of"),
    "text it leads to": (HEAD + place(leads_to='"resend.x: lost"'), "'leads_to' is 'resend.x: lost'", "a list of"),
    "deviation as table": (HEAD + "[deviation]\n", '"deviation" is {}', "expected [[deviation]] tables"),
    "place as table": (
        HEAD + table("deviation", {**CAUSE}) + "[deviation.seen]\n",
        '"seen" is {}',
        "expected [[deviation.seen]] tables",
    ),
    "listed twice": (
        HEAD + cause() + cause(id='"other"'),
        "deviation other",
        "expected each failure once, hash-order lists resend.keeps-order resend/cut out-of-order",
    ),
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
        check_known(parse(HEAD + cause()), ["resend.keep-order"], ["resend/cut"])


def test_unknown_case_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"deviation hash-order: 'cases' is 'resend/cut', expected the id of a case"):
        check_known(parse(HEAD + cause()), ["resend.keeps-order"], ["ack/other"])


def test_unknown_requirement_it_leads_to_is_a_usage_error() -> None:
    text = HEAD + place(leads_to='["resend.nothing: lost"]')
    with pytest.raises(
        UsageError, match=r"deviation hash-order: 'leads_to' is 'resend.nothing', expected the id of a requirement"
    ):
        check_known(parse(text), ["resend.keeps-order"], ["resend/cut"])


def test_known_ids_are_accepted() -> None:
    check_known(parse(HEAD + cause()), ["resend.keeps-order"], ["resend/cut"])


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


def test_versions_are_read_by_the_scheme_of_the_list() -> None:
    text = (HEAD + cause()).replace("tested = ", 'scheme = "maven"\ntested = ')
    known = parse(text)
    assert (known.scheme, known.entries[0].scheme) == ("maven", "maven")


@pytest.mark.parametrize(
    ("scheme", "tested", "complaint"),
    [
        ("dates", ">=1", "'scheme' is 'dates', expected one of pep440, semver, maven"),
        ("semver", "==0.13.*", "'tested' is '==0.13.*', expected a semantic version range such as"),
    ],
)
def test_a_scheme_that_is_none_or_does_not_read_a_range_is_refused(scheme: str, tested: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)):
        parse(f'schema = "2.0"\nagent = "a"\nscheme = "{scheme}"\ntested = "{tested}"\n')


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
    (read, _) = parse(example).entries
    assert (read.code, read.expires) == ("not-delivered", date(2027, 6, 30))
