"""The check of `ack-timeout.request-fits-subscription-type`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.ack_timeout._histories import holding

from assay_conformance.pulsar.checks.ack_timeout.request_fits_subscription_type import request_fits_subscription_type


@pytest.mark.parametrize(
    ("kind", "ids", "codes"),
    [
        ("Shared", (0,), []),
        ("Key_Shared", (0,), []),
        ("Shared", (), ["everything-on-a-shared-subscription"]),
        ("Exclusive", (), []),
        ("Failover", (), []),
        ("Failover", (0,), ["ids-on-a-subscription-of-one"]),
    ],
)
def test_held_message_is_asked_for_as_its_subscription_needs_it(
    kind: str, ids: tuple[int, ...], codes: list[str]
) -> None:
    story = holding(kind)
    story.after(420)
    story.redeliver_frame(*ids)
    assert story.judged(request_fits_subscription_type) == (codes, 0 if codes else 1)


def test_refusal_on_an_exclusive_subscription_may_name_its_message() -> None:
    story = holding("Exclusive")
    story.nack(1)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(request_fits_subscription_type) == ([], 0)


def test_request_before_the_time_out_is_over_is_another_requirements_matter() -> None:
    story = holding("Exclusive")
    story.after(100)
    story.redeliver_frame(0)
    assert story.judged(request_fits_subscription_type) == ([], 0)
