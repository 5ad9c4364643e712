"""Broker, faults and client as fixtures of other people's tests, and the example of them in docs/."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assay_conformance.model.errors import AgentError, UsageError
from assay_conformance.model.fault import Delay, Direction, Drop, Duplicate
from assay_fixtures.light.pulsar import LightPulsar
from assay_fixtures.pytesting.agent import Agent
from assay_fixtures.pytesting.faults import Faults, _direction

pytest_plugins = ["pytester"]

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "application"
WORDS = [b"one", b"two", b"three"]


def test_example_of_the_docs_passes() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE)]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert "2 passed" in told.stdout, told.stdout


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
    assay_faults.answer_error("PRODUCER", "NotAllowedError", "not here")
    with pytest.raises(AgentError, match="the client answered Fail"):
        assay_agent.send("t", WORDS)


def test_send_without_an_answer_says_how_long_it_waited(assay_faults: Faults, assay_agent: Agent) -> None:
    held = assay_faults.hold("SEND_RECEIPT")
    with pytest.raises(AgentError, match=r"^send to t: no answer within 0\.3 s$"):
        assay_agent.send("t", WORDS, deadline_s=0.3)
    held.heal()


# --- faults -----------------------------------------------------------------------------------------------------------


def test_fault_acts_at_the_frame_it_is_aimed_at(assay_faults: Faults, assay_agent: Agent) -> None:
    twice = assay_faults.inject(Duplicate(), "SEND", k=2)
    assay_agent.send("t", WORDS)
    assert twice.fired == 1
    assert assay_agent.receive("t", 5, wait_s=0.3) == [b"one", b"two", b"two", b"three"]


def test_fault_is_aimed_by_the_fields_of_a_frame(assay_faults: Faults, assay_agent: Agent) -> None:
    lost = assay_faults.cut("SEND_RECEIPT", before=True, sequence_id=2)
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
    assay_faults.inject(Delay(delay_ms=60_000), "SEND_RECEIPT", times=0, optional=True)
    assay_faults.heal()
    assert len(assay_agent.send("t", WORDS, deadline_s=5)) == 3


def test_fault_that_never_fired_is_an_error_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_of_an_application(assay_faults):
            assay_faults.drop("SEND_RECEIPT")
        """
    )
    told = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=60)
    told.assert_outcomes(passed=1, errors=1)
    told.stdout.fnmatch_lines(
        ["never fired, so this test did not test it: drop the 1st SEND_RECEIPT, broker to client"]
    )


def test_agent_of_the_options_is_the_client(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_of_an_application(assay_agent): pass")
    told = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--assay-agent", "nobody", timeout=60)
    told.assert_outcomes(errors=1)
    told.stdout.fnmatch_lines(["agent 'nobody' is unknown; expected one of *"])


def test_broker_answers_over_http_too(assay_broker: LightPulsar) -> None:
    assert assay_broker.service_url.startswith("pulsar://127.0.0.1:")
    assert assay_broker.admin_url.startswith("http://127.0.0.1:")
