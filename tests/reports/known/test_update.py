"""An expectations file brought to what a run showed."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.model.errors import UsageError
from assay_conformance.model.verdict import Verdict
from assay_reports.expectations import Expectations, parse_expectations
from assay_reports.impact import Impact
from assay_reports.update import Updated, update, with_triggers
from assay_reports.verdicts import Verdicts

Sample = Any

OTHER_CASE = "ack/close-flushes"
HEAD = '# A comment.\nschema = "2.0"\nagent = "pulsar-python"\ntested = "*"\n'
ENTRY = """
# About this cause.
[[deviation]]
id = "hash-order"
title = "Messages are sent again by hash order"
versions = "{versions}"  # measured
reason = "resends by hash order"

[[deviation.seen]]
requirement = "resend.keeps-order"
code = "out-of-order"
cases = ["resend/cut-after-second-receipt"]
"""
OTHER = """
[[deviation]]
id = "race"
title = "A race"
versions = "*"
reason = "a race"

[[deviation.seen]]
requirement = "ack.flush-on-close"
code = "lost"
cases = ["ack/close-flushes"]
occurs = "sometimes"
"""
TWO_PLACES = ENTRY.replace('cut-after-second-receipt"', 'cut-after-second-receipt", "resend/other"')


def ran(sample: Sample, text: str, *judgements: Any) -> Verdicts:
    """The verdicts of a run of 3.13.0 under that file."""
    document: Verdicts = sample.report(*judgements, entries=parse_expectations(text, "e.toml").entries).verdicts
    return document


def brought(sample: Sample, text: str, *judgements: Any, reason: str = "") -> Updated:
    return update(text, "e.toml", ran(sample, text, *judgements), reason)


def entries(told: Updated) -> Expectations:
    return parse_expectations(told.text, "e.toml")


def test_file_that_is_as_the_run_is_not_touched(sample: Sample) -> None:
    text = HEAD + ENTRY.format(versions="*")
    told = brought(sample, text, sample.judged(Verdict.FAIL, "out-of-order"))
    assert told == Updated(text, (), 0)


def test_stale_entry_of_this_version_alone_goes_with_its_comment(sample: Sample) -> None:
    told = brought(sample, HEAD + ENTRY.format(versions="==3.13.0") + OTHER, sample.judged())
    assert told.text == HEAD + OTHER
    assert told.done == ("pruned    resend.keeps-order in resend/cut-after-second-receipt: out-of-order",)


@pytest.mark.parametrize(("versions", "after"), [(">=3.4,<4", ">=3.4,<4,!=3.13.0"), ("*", "!=3.13.0")])
def test_stale_entry_of_more_versions_does_without_this_one(sample: Sample, versions: str, after: str) -> None:
    told = brought(sample, HEAD + ENTRY.format(versions=versions), sample.judged())
    (entry,) = entries(told).entries
    assert (entry.versions, entry.reason) == (after, "resends by hash order")
    assert "# About this cause." in told.text


def test_listed_failure_that_stayed_away_stays_listed(sample: Sample) -> None:
    quiet = sample.judged(requirement="ack.flush-on-close", case="ack/close-flushes")
    assert brought(sample, HEAD + OTHER, quiet).done == ()


def test_unlisted_failure_is_added_without_a_reason_and_no_reader_takes_that(sample: Sample) -> None:
    told = brought(sample, HEAD, sample.judged(Verdict.FAIL, "out-of-order"))
    assert told.unreasoned == 1
    with pytest.raises(UsageError, match=r"'reason' is '', expected a sentence that says why"):
        entries(told)


def test_new_entry_names_its_replay_file(sample: Sample) -> None:
    run = ran(sample, HEAD, sample.judged(Verdict.FAIL, "out-of-order"))
    told = update(HEAD, "e.toml", run, "known", replays={"resend/cut-after-second-receipt": "replays/cut.json"})
    assert [entry.replay for entry in entries(told).entries] == ["replays/cut.json"]


def test_unlisted_failure_is_added_with_the_reason_given(sample: Sample) -> None:
    told = brought(sample, HEAD + OTHER, sample.judged(Verdict.FAIL, "out-of-order"), reason='known: "issue 1"')
    old, new = entries(told).entries
    assert old.reason == "a race"
    assert (new.code, new.versions, new.reason) == ("out-of-order", "==3.13.0", 'known: "issue 1"')
    assert new.excerpt.startswith("producer 1 sent sequence id 2 before 1")
    assert told.unreasoned == 0


@pytest.mark.parametrize("verdict", [Verdict.UNTESTABLE, Verdict.INVALID])
def test_void_verdict_is_added_by_its_name(sample: Sample, verdict: Verdict) -> None:
    told = brought(sample, HEAD, sample.judged(verdict), reason="known")
    assert [entry.code for entry in entries(told).entries] == [verdict.value]


@pytest.mark.parametrize("verdict", [Verdict.WARN, Verdict.INCONCLUSIVE, Verdict.HARNESS_ERROR])
def test_what_does_not_fail_the_client_is_not_added(sample: Sample, verdict: Verdict) -> None:
    codes = ("slow",) if verdict is Verdict.WARN else ()
    assert brought(sample, HEAD, sample.judged(verdict, *codes)).done == ()


def test_updating_twice_changes_nothing_more(sample: Sample) -> None:
    judged = sample.judged(Verdict.FAIL, "out-of-order")
    run = ran(sample, HEAD, judged)
    once = update(HEAD, "e.toml", run, "known")
    assert update(once.text, "e.toml", run, "known").done == ()


def test_file_of_another_agent_is_refused(sample: Sample) -> None:
    run = ran(sample, HEAD, sample.judged())
    with pytest.raises(UsageError, match="'agent' is 'cooked', expected 'pulsar-python', the agent of the run"):
        update(HEAD.replace("pulsar-python", "cooked"), "e.toml", run)


def test_file_of_unusual_form_is_left_alone(sample: Sample) -> None:
    seen = 'requirement = "resend.keeps-order", code = "out-of-order", cases = ["resend/cut-after-second-receipt"]'
    cause = 'id = "a", title = "a", versions = "==3.13.0", reason = "known"'
    text = f"{HEAD}deviation = [{{ {cause}, seen = [{{ {seen} }}] }}]\n"
    with pytest.raises(UsageError, match=r"^e\.toml: cannot be edited safely"):
        brought(sample, text, sample.judged())


def test_stale_case_goes_and_the_other_cases_of_its_cause_stay(sample: Sample) -> None:
    told = brought(sample, HEAD + TWO_PLACES.format(versions="==3.13.0"), sample.judged())
    assert [entry.case for entry in entries(told).entries] == ["resend/other"]


def test_stale_case_of_more_versions_becomes_a_place_of_its_own(sample: Sample) -> None:
    told = brought(sample, HEAD + TWO_PLACES.format(versions="*"), sample.judged())
    assert {entry.case: entry.versions for entry in entries(told).entries} == {
        "resend/other": "*",
        "resend/cut-after-second-receipt": "!=3.13.0",
    }
    assert [one.id for one in entries(told).deviations] == ["hash-order"]


def test_new_failures_of_one_code_are_one_deviation_with_the_impact_given(sample: Sample) -> None:
    both = [
        sample.judged(Verdict.FAIL, "out-of-order", case=case)
        for case in ("resend/cut-after-second-receipt", OTHER_CASE)
    ]
    told = update(HEAD, "e.toml", ran(sample, HEAD, *both), "known", impact=Impact.LOST)
    (added,) = entries(told).deviations
    assert (added.id, added.impact) == ("resend.keeps-order-out-of-order", Impact.LOST)
    assert [len(one.cases) for one in added.seen] == [2]


def test_new_failures_that_show_in_the_same_case_are_one_deviation(sample: Sample) -> None:
    told = brought(
        sample, HEAD, sample.judged(Verdict.FAIL, "out-of-order"), sample.judged(Verdict.FAIL, "lost"), reason="r"
    )
    (deviation,) = entries(told).deviations
    assert [(seen.code, seen.cases) for seen in deviation.seen] == [
        ("out-of-order", ("resend/cut-after-second-receipt",)),
        ("lost", ("resend/cut-after-second-receipt",)),
    ]


def test_file_of_schema_1_is_written_in_schema_2(sample: Sample) -> None:
    old = """# A comment.
schema = "1.0"
agent = "pulsar-python"
tested = "*"

[[expect]]
requirement = "resend.keeps-order"
case = "resend/cut-after-second-receipt"
code = "out-of-order"
versions = ">=3.4"
reason = "resends by hash order"
"""
    told = brought(sample, old, sample.judged())
    assert told.text.startswith('# A comment.\nschema = "2.0"\n')
    (entry,) = entries(told).entries
    assert (entry.case, entry.versions) == ("resend/cut-after-second-receipt", ">=3.4,!=3.13.0")


def test_file_of_schema_1_that_is_as_the_run_is_not_touched(sample: Sample) -> None:
    old = HEAD.replace("2.0", "1.0")
    assert brought(sample, old, sample.judged()).text == old


def test_failure_of_a_broker_is_no_clients(sample: Sample) -> None:
    judged = sample.judged(Verdict.FAIL, "acked-again", requirement="ack.broker-keeps", case="ack/close-flushes")
    told = update(HEAD, "e.toml", ran(sample, HEAD, judged), not_the_clients={"ack.broker-keeps"})
    assert told == Updated(HEAD, (), 0)


def test_a_place_gets_its_trigger_and_the_others_stay_as_they_are() -> None:
    after = with_triggers(HEAD + ENTRY.format(versions="*") + OTHER, "x", {("hash-order", 0): "triggers/cut.json"})
    first, second = parse_expectations(after, "x").entries
    assert (first.trigger, second.trigger) == ("triggers/cut.json", "")
    assert after.startswith("# A comment.\n")
    assert after.endswith(OTHER)
