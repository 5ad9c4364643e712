"""The check of `connection.proxy-to-broker-url`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import Event
from assay_conformance.pulsar.checks.connection.proxy_to_broker_url import proxy_to_broker_url


@pytest.mark.parametrize(("named", "codes"), [("b:1", []), ("other:1", ["not-named"]), (None, ["not-named"])])
def test_broker_behind_a_proxy_is_to_be_named(named: str | None, codes: list[str]) -> None:
    check = trial(proxy_to_broker_url, _passed_on(named, asked_at="pulsar://proxy:1", then_at="pulsar://proxy:1"))
    assert (codes_of(check), check.exercised) == (codes, int(not codes))


@pytest.mark.parametrize(
    ("asked_at", "then_at", "named", "codes"),
    [
        ("pulsar://b:1", "pulsar://b:1", None, []),
        ("pulsar://b:1", "pulsar://b:1", "other:1", ["not-named"]),
        ("pulsar://proxy:1", "pulsar://b:1", None, ["not-named"]),
    ],
    ids=["it is the proxy itself", "another is named there", "the proxy is passed by"],
)
def test_broker_that_is_its_own_proxy_need_not_be_named(
    asked_at: str, then_at: str, named: str | None, codes: list[str]
) -> None:
    check = trial(proxy_to_broker_url, _passed_on(named, asked_at, then_at))
    assert (codes_of(check), check.exercised) == (codes, 0)


def _passed_on(named: str | None, asked_at: str, then_at: str) -> list[Event]:
    story = Script()
    story.opened(0, url=asked_at)
    story.up("LOOKUP", request_id=1, fields={"topic": story.full("t")})
    answer = {"response": "Connect", "brokerServiceUrl": "pulsar://b:1", "proxy_through_service_url": True}
    story.down("LOOKUP_RESPONSE", request_id=1, fields=answer)
    story.opened(1, url=then_at)
    story.up("CONNECT", 1, fields={} if named is None else {"proxy_to_broker_url": named})
    story.down("CONNECTED", 1)
    story.producer_asks(1)
    return story.done()
