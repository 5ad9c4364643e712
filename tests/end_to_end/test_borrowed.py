"""Broker, faults and client as fixtures of other people's tests."""

from __future__ import annotations

from urllib.request import Request, urlopen

import pytest

from assay_conformance.model.errors import AgentError, UsageError
from assay_conformance.model.fault import AnswerError, Cut, Delay, Direction, Drop, Duplicate, Scope
from assay_fixtures.light.pulsar import LightPulsar
from assay_fixtures.pytesting.agent import Agent
from assay_fixtures.pytesting.faults import Clients, Faults, _direction

pytest_plugins = ["pytester"]

WORDS = [b"one", b"two", b"three"]


# --- the client -------------------------------------------------------------------------------------------------------


def test_client_receives_what_it_sent(assay_agent: Agent) -> None:
    ids = assay_agent.send("t", WORDS)
    assert [id.entry for id in ids] == [0, 1, 2]
    assert assay_agent.receive("t", 3) == WORDS


def test_client_receives_an_acknowledged_message_once(assay_agent: Agent) -> None:
    assay_agent.send("t", WORDS)
    assert assay_agent.receive("t", 2) == WORDS[:2]
    assert assay_agent.receive("t", 5, wait_s=0.3) == WORDS[2:]


def test_each_subscription_receives_everything(assay_agent: Agent) -> None:
    assay_agent.send("t", WORDS)
    assert [assay_agent.receive("t", 3, subscription=name) for name in ("a", "b")] == [WORDS, WORDS]


def test_each_test_has_a_broker_of_its_own(assay_agent: Agent) -> None:
    assert assay_agent.receive("t", 1, wait_s=0.2) == []


def test_send_that_the_broker_refuses_is_an_error_with_the_clients_words(
    assay_faults: Faults, assay_agent: Agent
) -> None:
    assay_faults.answer_error("PRODUCER", "NotAllowedError", "not here", clients=Clients.TEST)
    with pytest.raises(AgentError, match="the client answered Fail"):
        assay_agent.send("t", WORDS)


def test_send_without_an_answer_says_how_long_it_waited(assay_faults: Faults, assay_agent: Agent) -> None:
    held = assay_faults.hold("SEND_RECEIPT", clients=Clients.TEST)
    with pytest.raises(AgentError, match=r"^send to t: no answer within 0\.3 s$"):
        assay_agent.send("t", WORDS, deadline_s=0.3)
    held.heal()


# --- faults -----------------------------------------------------------------------------------------------------------


def test_fault_acts_at_the_frame_it_is_aimed_at(assay_faults: Faults, assay_agent: Agent) -> None:
    twice = assay_faults.inject(Duplicate(), "SEND", k=2, clients=Clients.TEST)
    assay_agent.send("t", WORDS)
    assert twice.fired == 1
    assert assay_agent.receive("t", 5, wait_s=0.3) == [b"one", b"two", b"two", b"three"]


def test_fault_is_aimed_by_the_fields_of_a_frame(assay_faults: Faults, assay_agent: Agent) -> None:
    lost = assay_faults.cut("SEND_RECEIPT", before=True, sequence_id=2, clients=Clients.ALL)
    assay_agent.send("t", WORDS)
    assert lost.fired == 1
    assert assay_agent.receive("t", 5, wait_s=0.3) == [*WORDS, b"three"]


@pytest.mark.parametrize(
    ("command", "direction"),
    [
        ("SEND", Direction.TO_BROKER),
        ("SUBSCRIBE", Direction.TO_BROKER),
        ("SEND_RECEIPT", Direction.TO_CLIENT),
        ("LOOKUP_RESPONSE", Direction.TO_CLIENT),
        ("MESSAGE", Direction.TO_CLIENT),
    ],
)
def test_direction_of_most_commands_goes_without_saying(command: str, direction: Direction) -> None:
    assert _direction(command) is direction


def test_direction_of_what_both_send_has_to_be_said(assay_faults: Faults) -> None:
    with pytest.raises(UsageError, match="PING is sent by both sides: say direction="):
        assay_faults.drop("PING")
    assay_faults.inject(Drop(), "PING", direction=Direction.TO_CLIENT, optional=True)


def test_fault_of_an_unknown_command_is_refused(assay_faults: Faults) -> None:
    with pytest.raises(UsageError, match="SENT"):
        assay_faults.drop("SENT")


def test_healed_broker_is_without_faults(assay_faults: Faults, assay_agent: Agent) -> None:
    assay_faults.inject(Delay(delay_ms=60_000), "SEND_RECEIPT", times=0, clients=Clients.TEST, optional=True)
    assay_faults.heal()
    assert len(assay_agent.send("t", WORDS, deadline_s=5)) == 3


def test_fault_spares_the_clients_of_the_test(assay_faults: Faults, assay_agent: Agent) -> None:
    lost = assay_faults.inject(Cut(before=True), "SEND_RECEIPT", where={"sequence_id": 1}, optional=True)
    assay_agent.send("orders", [b"tea", b"cake", b"milk", b"close"])
    assert lost.fired == 0
    assert assay_agent.receive("orders", 5, wait_s=0.3) == [b"tea", b"cake", b"milk", b"close"]


@pytest.mark.parametrize("topic", ["orders", "persistent://public/default/orders", "orders-partition-0"])
def test_fault_is_aimed_at_a_topic(
    assay_broker: LightPulsar, assay_faults: Faults, assay_agent: Agent, topic: str
) -> None:
    put_topic(assay_broker, "orders", partitions=1)
    refused = assay_faults.inject(AnswerError(error="NotAllowedError"), "PRODUCER", topic=topic, clients=Clients.TEST)
    assay_agent.send("invoices", WORDS)
    assert refused.fired == 0
    with pytest.raises(AgentError):
        assay_agent.send("orders", WORDS)
    assert refused.fired == 1


def put_topic(broker: LightPulsar, topic: str, partitions: int) -> None:
    request = Request(
        f"{broker.admin_url}/admin/v2/persistent/public/default/{topic}/partitions",
        method="PUT",
        data=str(partitions).encode(),
        headers={"Content-Type": "application/json"},
    )
    urlopen(request, timeout=10).close()


def test_topic_and_a_scope_with_a_topic_are_refused(assay_faults: Faults) -> None:
    with pytest.raises(UsageError, match="expected one of them"):
        assay_faults.inject(Drop(), "SEND", topic="a", scope=Scope(topic="b"))


NEVER_MET = "*a fault never met the application, so this test did not test it: drop the 1st SEND_RECEIPT, *"


def test_fault_that_the_application_never_met_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_of_an_application(assay_faults, assay_agent):
            assay_faults.drop("SEND_RECEIPT")
            assay_agent.send("orders", [b"tea"])
        """
    )
    told = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=60)
    told.assert_outcomes(failed=1)
    told.stdout.fnmatch_lines(
        [
            NEVER_MET,
            "Connections to the broker:",
            "  0, test (*): sent CONNECT, * SEND*; was sent CONNECTED, *SEND_RECEIPT; topics: orders",
            "What to do: the application never connected; start it in the test, at assay_broker.service_url",
        ]
    )


def test_fault_met_while_fixtures_are_torn_down_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import socket
        import pytest
        from urllib.parse import urlsplit
        from assay_conformance.wire import CommandType, command, encode

        @pytest.fixture
        def application(assay_broker):
            yield
            where = urlsplit(assay_broker.service_url)
            with socket.create_connection((where.hostname, where.port)) as connection:
                connection.sendall(encode(command(CommandType.CONNECT, client_version="t", protocol_version=21)))
                connection.recv(1)

        def test_of_an_application(assay_faults, application):
            assay_faults.duplicate("CONNECTED")
        """
    )
    told = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=60)
    told.assert_outcomes(failed=1)


def test_failure_of_a_test_also_says_which_faults_were_not_met(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_of_an_application(assay_faults):
            assay_faults.drop("SEND_RECEIPT")
            assert not "the application works"
        """
    )
    told = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=60)
    told.assert_outcomes(failed=1)
    told.stdout.fnmatch_lines(["*the application works*", NEVER_MET])


def test_agent_of_the_options_is_the_client(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_of_an_application(assay_agent): pass")
    told = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--assay-agent", "nobody", timeout=60)
    told.assert_outcomes(errors=1)
    told.stdout.fnmatch_lines(["agent 'nobody' is unknown; expected one of *"])


def test_broker_answers_over_http_too(assay_broker: LightPulsar) -> None:
    assert assay_broker.service_url.startswith("pulsar://127.0.0.1:")
    assert assay_broker.admin_url.startswith("http://127.0.0.1:")
