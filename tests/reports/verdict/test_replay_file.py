"""Replay files: one Case and what it broke, and what running it again says."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from assay_conformance.model.errors import UsageError
from assay_conformance.model.schema import UPGRADES, FileKind
from assay_conformance.model.verdict import Verdict
from assay_reports.replay import Answer, Replay, compare, read_replay, render, replay_of

Sample = Any


def replay(sample: Sample, *codes: str) -> Replay:
    findings = [sample.finding(code) for code in codes or ("out-of-order",)]
    return replay_of(sample.run(), sample.case(), findings, sample.catalogue.requirements)


def test_replay_survives_its_file(sample: Sample) -> None:
    assert read_replay(render(replay(sample)), "x.json") == replay(sample)


def test_breach_carries_the_clause_as_it_read(sample: Sample) -> None:
    (breach,) = replay(sample).breaches
    assert breach.clause == sample.catalogue.requirements["resend.keeps-order"].clause


def test_findings_of_one_code_are_one_breach(sample: Sample) -> None:
    assert [breach.code for breach in replay(sample, "lost", "lost", "out-of-order").breaches] == [
        "lost",
        "out-of-order",
    ]


def test_missing_case_is_a_sentence_with_file_and_key(sample: Sample) -> None:
    document = json.loads(render(replay(sample)))
    del document["case"]
    with pytest.raises(UsageError, match=r"x\.json: .*`case`"):
        read_replay(json.dumps(document).encode(), "x.json")


def test_a_case_of_an_older_schema_is_upgraded_by_its_function(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps_were_acts(record: dict[str, Any]) -> dict[str, Any]:
        acts = record["case"].pop("acts")
        return {**record, "schema": "1.0", "case": {**record["case"], "steps": acts}}

    monkeypatch.setitem(UPGRADES, (FileKind.REPLAY, 0), steps_were_acts)
    document = json.loads(render(replay(sample)))
    document["case"]["acts"] = document["case"].pop("steps")
    old = json.dumps({**document, "schema": "0.4"}).encode()
    assert read_replay(old, "x.json") == replay(sample)


def test_no_json_is_a_sentence() -> None:
    with pytest.raises(UsageError, match=r"x\.json: is not UTF-8"):
        read_replay(b"\xff\x00", "x.json")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (None, '"schema" is missing, expected "major.minor" such as 2.0'),
        ("1" * 6_000 + ".0", "\"schema\" is '1{30,80}\\.\\.\\.?1{20,80}\\.0', expected"),
        (10**18, "\"schema\" is 'int', expected"),
    ],
)
def test_a_schema_that_is_none_is_told_as_what_it_is(schema: object, words: str, sample: Sample) -> None:
    document = json.loads(render(replay(sample)))
    del document["schema"]
    told = document if schema is None else {"schema": schema, **document}
    with pytest.raises(UsageError, match=rf"x\.json: {words}"):
        read_replay(json.dumps(told).encode(), "x.json")


def test_lists_without_end_are_no_replay_file() -> None:
    with pytest.raises(UsageError, match=r"x\.json: nests deeper than 64 levels"):
        read_replay(b'{"a":' * 100_000, "x.json")


def test_a_replay_of_nothing_is_refused(sample: Sample) -> None:
    nothing = msgspec.structs.replace(replay(sample), breaches=())
    with pytest.raises(UsageError, match=r"x\.json: 'breaches' is empty, expected what the Case showed"):
        read_replay(render(nothing), "x.json")


def test_a_case_that_cannot_be_run_is_refused_as_it_is_read(sample: Sample) -> None:
    document = json.loads(render(replay(sample)))
    document["case"]["steps"] = [{"who": "wait", "verb": "ms"}]
    with pytest.raises(UsageError, match=r"x\.json: step 0, ms: 'ms' is missing, expected a whole number"):
        read_replay(json.dumps(document).encode(), "x.json")


def test_same_breach_still_fails(sample: Sample) -> None:
    assert compare(replay(sample), [sample.judged(Verdict.FAIL, "out-of-order")]).answer is Answer.STILL_FAILS


def test_one_of_two_breaches_still_fails(sample: Sample) -> None:
    told = compare(replay(sample, "lost", "out-of-order"), [sample.judged(Verdict.FAIL, "out-of-order")])
    assert told.answer is Answer.STILL_FAILS


OTHER = "resend.pending-sends-resent"


def of_two(sample: Sample) -> Replay:
    findings = [sample.finding("out-of-order"), sample.finding("left-out", requirement=OTHER)]
    return replay_of(sample.run(), sample.case(), findings, sample.catalogue.requirements)


def test_of_several_breaches_it_tells_how_many_show_and_which_are_fixed(sample: Sample) -> None:
    judgements = [sample.judged(Verdict.PASS), sample.judged(Verdict.FAIL, "left-out", requirement=OTHER)]
    told = compare(of_two(sample), judgements)
    assert told.answer is Answer.STILL_FAILS
    assert told.sentence.startswith(f"{OTHER}: left-out: ")
    assert told.sentence.endswith(" (1 of 2 recorded breaches show again; fixed: resend.keeps-order)")


def test_of_several_breaches_one_that_was_not_exercised_is_not_told_as_fixed(sample: Sample) -> None:
    told = compare(of_two(sample), [sample.judged(Verdict.FAIL, "left-out", requirement=OTHER)])
    assert told.sentence.endswith(" (1 of 2 recorded breaches show again)")


def test_a_breach_that_is_alone_is_told_without_a_count(sample: Sample) -> None:
    judged = sample.judged(Verdict.FAIL, "out-of-order")
    (finding,) = judged.findings
    assert compare(replay(sample), [judged]).sentence == f"{finding.requirement}: out-of-order: {finding.sentence}"


def test_what_the_case_is_about_is_recorded_first(sample: Sample) -> None:
    findings = [sample.finding("left-out", requirement=OTHER), sample.finding("out-of-order")]
    told = replay_of(sample.run(), sample.case(), findings, sample.catalogue.requirements)
    assert [breach.code for breach in told.breaches] == ["out-of-order", "left-out"]


def test_kept_requirement_is_fixed(sample: Sample) -> None:
    assert compare(replay(sample), [sample.judged(Verdict.PASS)]).answer is Answer.FIXED


@pytest.mark.parametrize("verdict", [v for v in Verdict if v not in (Verdict.PASS, Verdict.FAIL)])
def test_open_question_is_an_error(sample: Sample, verdict: Verdict) -> None:
    assert compare(replay(sample), [sample.judged(verdict)]).answer is Answer.ERROR


def test_another_breach_is_an_error(sample: Sample) -> None:
    assert compare(replay(sample), [sample.judged(Verdict.FAIL, "agent-lost")]).answer is Answer.ERROR


def test_requirement_not_judged_is_an_error(sample: Sample) -> None:
    told = compare(replay(sample), [sample.judged(requirement="resend.pending-sends-resent")])
    assert told.answer is Answer.ERROR
    assert "was not judged" in told.sentence


def test_superseded_attempt_says_nothing(sample: Sample) -> None:
    judgements = [sample.judged(Verdict.FAIL, "out-of-order", superseded=True), sample.judged(Verdict.PASS, attempt=2)]
    assert compare(replay(sample), judgements).answer is Answer.FIXED
