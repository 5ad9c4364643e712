"""The check of `dead-letter.initial-subscription`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._letters import Letters
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.pulsar.checks.dead_letter.initial_subscription import initial_subscription


@pytest.mark.parametrize(("named", "codes"), [("keeper", []), ("other", ["not-asked-for"])])
def test_first_subscription_is_to_be_the_one_configured(named: str, codes: list[str]) -> None:
    story = Letters(dead_letter_subscription="keeper")
    story.opens(initial_subscription_name=named)
    check = story.judged(initial_subscription)
    assert (codes_of(check), check.exercised) == (codes, 1)
