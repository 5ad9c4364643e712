"""Case ids name files: those that come from a file stay in the run folder."""

from __future__ import annotations

import pytest

from assay_conformance.model.case import check_case_id
from assay_conformance.model.errors import UsageError
from assay_conformance.pulsar.cases import all_cases


def test_ids_of_our_own_cases_are_accepted() -> None:
    for case in all_cases():
        check_case_id(case.id, "plan.jsonl")


@pytest.mark.parametrize(
    "case_id", ["", "/tmp/x", "../x", "a/../b", "a/..", "a/./b", "a//b", "a/", ".hidden", "a\\b", "a\n", "a\0"]
)
def test_id_that_could_lead_elsewhere_is_refused(case_id: str) -> None:
    with pytest.raises(UsageError, match=r"plan\.jsonl: Case id .*, expected words such as resend/queue-order"):
        check_case_id(case_id, "plan.jsonl")
