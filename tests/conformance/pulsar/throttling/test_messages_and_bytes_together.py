"""The check of `throttling.messages-and-bytes-together`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._histories import BOTH, read_at

from assay_conformance.checks.trial import trial
from assay_conformance.pulsar.checks.throttling.messages_and_bytes_together import messages_and_bytes_together


def test_both_rates_kept_are_accepted() -> None:
    assert codes_of(trial(messages_and_bytes_together, read_at((300, 10), (1300, 10)), BOTH)) == []


@pytest.mark.parametrize(("entries", "size"), [(40, 1), (8, 1_000)], ids=["messages", "bytes"])
def test_either_rate_alone_is_held_to(entries: int, size: int) -> None:
    assert codes_of(trial(messages_and_bytes_together, read_at((300, entries), size=size), BOTH)) == ["too-fast"]
