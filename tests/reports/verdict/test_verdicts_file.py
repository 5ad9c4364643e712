"""verdicts.json: the same bytes for the same run, and a schema that is what the types say."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from assay_conformance.model.errors import UsageError
from assay_conformance.model.verdict import Verdict
from assay_reports.verdicts import counts, differences, read_verdicts, render

Sample = Any


def test_document_survives_its_file(sample: Sample) -> None:
    document = sample.report(sample.judged(Verdict.FAIL, "out-of-order"), entries=[sample.entry()]).verdicts
    assert read_verdicts(render(document), "verdicts.json") == document


def test_equal_runs_give_equal_bytes(sample: Sample) -> None:
    first = sample.report(sample.judged(Verdict.FAIL, "out-of-order"))
    assert render(first.verdicts) == render(sample.report(sample.judged(Verdict.FAIL, "out-of-order")).verdicts)


def test_first_keys_say_what_the_file_is(sample: Sample) -> None:
    assert list(json.loads(render(sample.report(sample.judged()).verdicts)))[:2] == ["schema", "file"]


def test_newer_major_is_refused_in_one_sentence(sample: Sample) -> None:
    data = render(sample.report(sample.judged()).verdicts).replace(b'"schema": "2.0"', b'"schema": "3.0"')
    with pytest.raises(UsageError, match=r"verdicts.json: written in schema 3\.0"):
        read_verdicts(data, "verdicts.json")


def test_unknown_fields_of_a_newer_minor_are_ignored(sample: Sample) -> None:
    document = sample.report(sample.judged()).verdicts
    data = json.loads(render(document))
    data["schema"] = "2.9"
    data["new"] = {"later": True}
    assert read_verdicts(json.dumps(data).encode(), "verdicts.json").requirements == document.requirements


def test_other_kind_of_file_is_refused(sample: Sample) -> None:
    with pytest.raises(UsageError, match=r"\"file\" is 'run', expected 'verdicts'"):
        read_verdicts(msgspec.json.encode(sample.run()), "verdicts.json")


def test_broker_side_is_counted_apart(sample: Sample) -> None:
    rows = sample.rows([sample.judged(), sample.judged(Verdict.FAIL, "dispatched", requirement="ack.broker-keeps")])
    assert counts(rows, sample.catalogue.requirements) == {"pass": 1}
    assert counts(rows, sample.catalogue.requirements, broker_side=True) == {"fail": 1}


def test_expected_failures_are_counted_apart(sample: Sample) -> None:
    standing = sample.standing(
        sample.judged(Verdict.FAIL, "out-of-order"),
        sample.judged(Verdict.FAIL, "lost", requirement="resend.pending-sends-resent"),
        entries=[sample.entry()],
    )
    assert counts(standing.rows, sample.catalogue.requirements) == {"fail": 1, "expected fail": 1}


def test_same_verdicts_have_no_differences(sample: Sample) -> None:
    document = sample.report(sample.judged()).verdicts
    assert differences(document, document) == ()


def test_differences_name_both_verdicts_and_codes(sample: Sample) -> None:
    before = sample.report(sample.judged()).verdicts
    after = sample.report(sample.judged(Verdict.FAIL, "out-of-order")).verdicts
    assert [str(change) for change in differences(before, after)] == ["resend.keeps-order: pass -> fail (out-of-order)"]


def test_requirement_new_to_the_catalogue_is_a_difference(sample: Sample) -> None:
    before = sample.report(sample.judged()).verdicts
    after = sample.report(sample.judged(), sample.judged(requirement="ack.flush-on-close")).verdicts
    assert [str(change) for change in differences(before, after)] == ["ack.flush-on-close: not judged -> pass"]
