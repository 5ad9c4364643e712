"""resend.reconnects-after-close-producer, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.resend.returning import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import AgentEnded, Fate, Sides
from assay_conformance.pulsar.checks.resend.reconnects_after_close_producer import reconnects_after_close_producer


def _shares_its_connection(story: Script) -> None:
    story.producer(PRODUCER + 1, producer_id=1, topic="u", name="another")


class _SentAway(Script):
    """A producer is closed by the broker, and is to send a message then (`used`)."""

    def __init__(self, *, alone: bool = True, used: bool = True, **order: str) -> None:
        super().__init__()
        self.producer()
        if not alone:
            _shares_its_connection(self)
        self.down("CLOSE_PRODUCER", producer_id=0, fields=order)
        if used:
            self.send(0)

    def looks_up(self) -> None:
        self.up("LOOKUP", fields={"topic": self.full("t")})

    def judged(self) -> Check:
        return trial(reconnects_after_close_producer, self.at(5_000).done())


def test_producer_that_looks_up_and_registers_again_is_accepted() -> None:
    story = _SentAway()
    story.looks_up()
    story.producer_ready()
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_does_not_come_back_is_found() -> None:
    assert codes_of(_SentAway().judged()) == ["not-back"]


def test_producer_that_sends_nothing_may_come_back_when_it_is_used() -> None:
    assert codes_of(_SentAway(used=False).judged()) == []


def test_producer_with_a_send_that_has_no_receipt_has_to_come_back() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.down("CLOSE_PRODUCER", producer_id=0)
    assert codes_of(trial(reconnects_after_close_producer, story.at(5_000).done())) == ["not-back"]


def test_producer_whose_send_comes_late_has_its_time_from_then() -> None:
    story = _SentAway(used=False)
    story.at(4_900).send(0)
    assert codes_of(story.judged()) == []


def test_producer_that_was_told_the_end_need_not_come_back() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "TopicTerminatedError"})
    story.down("CLOSE_PRODUCER", producer_id=0)
    assert codes_of(trial(reconnects_after_close_producer, story.at(5_000).done())) == []


def test_producer_whose_lookup_has_an_answer_of_another_kind_waits_for_its_own() -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, fields={"topic": story.full("t")})
    story.down("SUCCESS", request_id=90, sides=Sides.RECEIVER, fate=Fate.INJECTED)
    assert codes_of(story.judged()) == []


def test_producer_whose_lookup_is_swallowed_waits_for_its_answer() -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, sides=Sides.SENDER, fields={"topic": story.full("t")})
    assert codes_of(story.judged()) == []


@pytest.mark.parametrize(("answered_ms", "codes"), [(4_900, []), (1_000, ["not-back"])])
def test_producer_whose_lookup_is_answered_late_has_its_time_from_then(answered_ms: int, codes: list[str]) -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, fields={"topic": story.full("t")})
    story.at(answered_ms).down("LOOKUP_RESPONSE", request_id=90, fields={"response": "Connect"})
    assert codes_of(story.judged()) == codes


def test_producer_whose_lookup_was_lost_with_its_connection_has_to_ask_again() -> None:
    story = _SentAway()
    story.connected(1)
    story.up("LOOKUP", 1, request_id=90, sides=Sides.SENDER, fields={"topic": story.full("t")})
    story.cut(1)
    assert codes_of(story.judged()) == ["not-back"]


def test_producer_whose_lookup_was_lost_with_its_connection_has_time_to_ask_again() -> None:
    story = _SentAway()
    story.connected(1)
    story.up("LOOKUP", 1, request_id=90, sides=Sides.SENDER, fields={"topic": story.full("t")})
    story.at(4_900).cut(1)
    assert codes_of(story.judged()) == []


def test_producer_waits_for_its_lookup_until_the_connection_ends() -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, sides=Sides.SENDER, fields={"topic": story.full("t")})
    story.after(5_000).cut()
    assert codes_of(story.judged()) == []


def test_producer_whose_lookup_is_refused_may_be_over() -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", request_id=90, fields={"error": "TopicTerminatedError"})
    assert codes_of(story.judged()) == []


def test_lookup_that_was_under_way_for_another_of_the_topic_serves_the_producer_as_well() -> None:
    story = Script()
    story.producer()
    story.up("LOOKUP", request_id=90, fields={"topic": story.full("t")})
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.down("LOOKUP_RESPONSE", request_id=90)
    story.producer_ready()
    assert codes_of(trial(reconnects_after_close_producer, story.at(5_000).done())) == []


def test_connection_that_ends_with_the_agent_is_not_left_over_a_producer() -> None:
    story = _SentAway()
    story.add(AgentEnded, reason="killed", exit_status=-9)
    story.closed()
    assert codes_of(story.judged()) == []


@pytest.mark.parametrize(("ended_ms", "codes"), [(0, []), (400, []), (3_000, ["left-the-connection"])])
def test_end_of_a_process_that_is_noticed_behind_that_of_its_connection(ended_ms: int, codes: list[str]) -> None:
    story = _SentAway(alone=False)
    story.closed()
    story.after(ended_ms).add(AgentEnded, reason="killed", exit_status=-9, killed=True)
    assert codes_of(story.judged()) == codes


def test_process_that_the_case_crashes_leaves_no_connection() -> None:
    story = _SentAway()
    story.invoke("crash")
    story.closed()
    story.after(2_000).add(AgentEnded, reason="crashed", exit_status=1)
    assert codes_of(story.judged()) == []


def test_process_that_ended_before_a_connection_began_is_no_excuse() -> None:
    story = Script()
    story.add(AgentEnded, reason="killed", exit_status=-9, killed=True)
    story.producer()
    _shares_its_connection(story)
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.closed()
    assert codes_of(trial(reconnects_after_close_producer, story.at(5_000).done())) == ["left-the-connection"]


def test_broker_that_says_it_is_not_ready_may_be_left() -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", request_id=90, fields={"error": "ServiceNotReady"})
    story.closed()
    story.producer_again(1)
    assert codes_of(story.judged()) == []


def test_connection_of_one_producer_alone_may_be_closed_with_it() -> None:
    story = _SentAway()
    story.closed()
    story.connected(1)
    story.up("LOOKUP", 1, fields={"topic": story.full("t")})
    story.producer_ready(1)
    assert codes_of(story.judged()) == []


def test_connection_closed_over_one_producer_is_found() -> None:
    story = _SentAway(alone=False)
    story.closed()
    story.producer_again(1)
    assert codes_of(story.judged()) == ["left-the-connection"]


def test_registering_without_a_lookup_is_found() -> None:
    story = _SentAway()
    story.producer_ready()
    assert codes_of(story.judged()) == ["no-lookup"]


def test_broker_that_names_another_one_needs_no_lookup() -> None:
    story = _SentAway(assignedBrokerServiceUrl="pulsar://two:6650")
    story.producer_again(1)
    assert codes_of(story.judged()) == []


def test_producer_that_was_to_be_closed_anyway_need_not_come_back() -> None:
    story = _SentAway()
    story.invoke("close", PRODUCER)
    assert codes_of(story.judged()) == []


def test_connection_left_over_a_refused_send_proves_nothing() -> None:
    story = _SentAway()
    story.down("SEND_ERROR", producer_id=0, sequence_id=0)
    story.closed()
    story.up("LOOKUP", 1, fields={"topic": story.full("t")})
    story.producer_again(1)
    assert codes_of(story.judged()) == []
