"""CONNECT: tokens, proxies, versions; and credentials asked for again (PIP-55)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.model.case import Topology
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.wire import NO_ID
from assay_conformance.wire.pulsar_pb2 import ServerError

GUARDED = Topology(settings=BrokerSettings(tokens=("good",)))
REFRESHES: dict[str, Any] = {"feature_flags": {"supports_auth_refresh": True}}
GOOD: dict[str, Any] = {"auth_method_name": "token", "auth_data": b"good"}


def _connect(topology: Topology = GUARDED, **fields: Any) -> Bench:
    bench = Bench(topology=topology)
    bench.cluster.opened(0, 0, 0)
    bench.tell(C.CONNECT, **{"client_version": "test", "protocol_version": 21, **REFRESHES, **GOOD} | fields)
    return bench


def _challenged(**fields: Any) -> Bench:
    bench = _connect(**fields)
    bench.take()
    bench.step("challenge")
    return bench


def _answer(bench: Bench, token: bytes = b"good") -> None:
    bench.tell(C.AUTH_RESPONSE, response={"auth_method_name": "token", "auth_data": token})


# --- the beginning ----------------------------------------------------------------------------------------------------


def test_token_that_is_known_opens_the_connection() -> None:
    assert _connect().kinds() == ["CONNECTED"]


@pytest.mark.parametrize(
    "fields", [{"auth_data": b"bad"}, {"auth_method_name": "none"}, {"auth_data": b"", "auth_method_name": ""}]
)
def test_any_other_is_an_error_and_the_end(fields: dict[str, Any]) -> None:
    bench = _connect(**fields)
    [answer] = bench.take()
    assert (answer.body.request_id, answer.body.error) == (NO_ID, ServerError.AuthenticationError)
    assert bench.closed == [0]


def test_credentials_nobody_wants_are_not_looked_at() -> None:
    assert _connect(Topology(), auth_data=b"bad").kinds() == ["CONNECTED"]


@pytest.mark.parametrize(("client", "server", "agreed"), [(21, 14, 14), (12, 21, 12), (99, 21, 21)])
def test_lower_version_is_agreed_on(client: int, server: int, agreed: int) -> None:
    bench = _connect(Topology(protocol_version=server), protocol_version=client)
    assert bench.take()[-1].body.protocol_version == agreed


def test_announcement_may_change_from_one_connection_to_the_next() -> None:
    bench = Bench()
    first = bench.connect(0).body
    bench.step("announce", protocol_version=14, max_message_bytes=1_000)
    second = bench.connect(1).body
    assert (first.protocol_version, first.max_message_size) == (21, 5 * 1024 * 1024)
    assert (second.protocol_version, second.max_message_size) == (14, 1_000)


# --- credentials asked for again --------------------------------------------------------------------------------------


def test_challenge_names_the_method_of_the_client() -> None:
    [asked] = _challenged().take()
    assert (asked.type, asked.body.challenge.auth_method_name) == (C.AUTH_CHALLENGE, "token")


def test_answered_challenge_leaves_everything_as_it_is() -> None:
    patient = Topology(keep_alive_ms=1_000_000, settings=BrokerSettings(tokens=("good",), auth_refresh_ms=1_000))
    bench = _challenged(topology=patient)
    bench.take()
    _answer(bench)
    bench.wait(2_000)
    assert (bench.take(), bench.closed) == ([], [])


def test_token_that_is_not_valid_any_more_ends_the_connection() -> None:
    bench = _connect()
    bench.step("challenge", tokens=["new"])
    bench.take()
    _answer(bench)
    assert ([frame.body.error for frame in bench.take()], bench.closed) == ([ServerError.AuthenticationError], [0])


def test_new_token_is_taken() -> None:
    bench = _connect()
    bench.step("challenge", tokens=["new"])
    bench.take()
    _answer(bench, b"new")
    assert (bench.take(), bench.closed) == ([], [])


def test_silence_ends_the_connection() -> None:
    bench = _challenged(topology=Topology(settings=BrokerSettings(auth_refresh_ms=1_000)))
    bench.wait(999)
    assert bench.closed == []
    bench.wait(1)
    assert bench.closed == [0]


def test_second_challenge_without_an_answer_is_the_end() -> None:
    bench = _challenged()
    bench.step("challenge")
    assert bench.closed == [0]


@pytest.mark.parametrize("fields", [{"protocol_version": 13}, {"feature_flags": {}}])
def test_client_that_cannot_refresh_is_disconnected(fields: dict[str, Any]) -> None:
    bench = _challenged(**fields)
    assert (bench.take(), bench.closed) == ([], [0])


@pytest.mark.parametrize("response", [None, {"auth_method_name": "token"}])
def test_response_without_credentials_ends_the_connection(response: dict[str, Any] | None) -> None:
    bench = _challenged()
    fields: dict[str, Any] = {} if response is None else {"response": response}
    bench.tell(C.AUTH_RESPONSE, **fields)
    assert bench.closed == [0]


def test_challenge_reaches_no_connection_that_has_not_begun() -> None:
    bench = Bench()
    bench.cluster.opened(0, 0, 0)
    bench.step("challenge")
    assert (bench.take(), bench.closed) == ([], [])


# --- proxies ----------------------------------------------------------------------------------------------------------

PROXIED = Topology(brokers=2, settings=BrokerSettings(proxied=True))


@pytest.mark.parametrize("url", ["pulsar://broker-1:6650", "broker-1:6650"])
def test_client_of_a_proxy_talks_to_the_broker_it_names(url: str) -> None:
    bench = _connect(PROXIED, proxy_to_broker_url=url)
    bench.step("move", topic="t", broker=1)
    assert bench.produce().type == C.PRODUCER_SUCCESS


def test_look_up_through_a_proxy_leads_through_it() -> None:
    bench = _connect(PROXIED)
    bench.step("move", topic="t", broker=1)
    answer = bench.ask(C.LOOKUP, topic="t").body
    assert (answer.brokerServiceUrl, answer.proxy_through_service_url) == ("pulsar://broker-1:6650", True)


def test_broker_the_proxy_does_not_know_is_an_error_and_the_end() -> None:
    bench = _connect(PROXIED, proxy_to_broker_url="elsewhere:1")
    assert [frame.body.error for frame in bench.take()] == [ServerError.ServiceNotReady]
    assert bench.closed == [0]


def test_broker_without_a_proxy_does_not_look_at_what_is_a_proxys() -> None:
    assert _connect(Topology(), proxy_to_broker_url="elsewhere:1").kinds() == ["CONNECTED"]


@pytest.mark.parametrize(("announced", "watches"), [(13, False), (19, False), (20, True), (21, True)])
def test_flag_of_topic_watchers_is_announced_by_brokers_that_have_them(announced: int, watches: bool) -> None:
    bench = Bench(topology=Topology(protocol_version=announced))
    assert bench.connect(version=21).body.feature_flags.supports_topic_watchers is watches
    assert Bench().connect(version=12).body.feature_flags.supports_topic_watchers, "whichever version the client has"
