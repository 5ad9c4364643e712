"""A bug of assay's own behind the proxy is told as one, wherever the event loop calls it: no connection was lost."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case
from assay_conformance.model.verdict import Verdict
from assay_faults.link import FrameLink
from assay_faults.proxy.addresses import Addresses
from assay_faults.proxy.pair import Pair
from assay_faults.proxy.proxy import FrameProxy
from assay_fixtures.reference.probe import ReferenceTrial

TRIPS = (
    (FrameLink, "_passed", 4),
    (FrameLink, "_passed", 13),
    (FrameProxy, "dial", 1),
    (FrameProxy, "opened", 1),
    (Addresses, "unknown", 1),
    (Pair, "half_closed", 1),
    (Pair, "settled", 3),
)
"""What trips, and at which of its calls."""


def three_sends() -> Case:
    plan = Schedule()
    plan.send(plan.producer(plan.client()), 3)
    plan.wait_ops()
    return plan.case("proxy/three-sends", "Three sends", ("resend.pending-sends-resent",))


@pytest.mark.parametrize(("of", "method", "nth"), TRIPS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_proxy_that_trips_blames_nobody(
    of: Any, method: str, nth: int, proxied: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole, calls = getattr(of, method), []

    def trips(*args: Any, **options: Any) -> Any:
        calls.append(method)
        if len(calls) == nth:
            raise KeyError("nobody is there")
        return whole(*args, **options)

    monkeypatch.setattr(of, method, trips)
    with caplog.at_level(logging.CRITICAL, "asyncio"):
        tried = ReferenceTrial(site=proxied()).in_virtual_time(three_sends())
    assert {judgement.verdict for judgement in tried.judgements} == {Verdict.HARNESS_ERROR}
