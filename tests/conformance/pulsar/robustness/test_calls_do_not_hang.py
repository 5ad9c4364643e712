"""Liveness, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import AgentEnded, Ending, ErrorClass, Event, Fate, Garbled, Outcome, Sides
from assay_conformance.model.facts import Lack
from assay_conformance.model.verdict import Grade
from assay_conformance.pulsar.checks.robustness.calls_do_not_hang import calls_do_not_hang


def judged(events: list[Event]) -> list[tuple[str, Grade]]:
    return [(finding.code, finding.grade) for finding in trial(calls_do_not_hang, events).findings]


def test_operations_that_end_are_counted() -> None:
    story = Script()
    story.producer()
    story.complete(story.invoke("flush", PRODUCER))
    said = trial(calls_do_not_hang, story.done())
    assert (said.findings, said.exercised) == ([], 2)


def test_operation_that_does_not_end_is_found_once() -> None:
    story = Script()
    first, second = story.invoke("flush", PRODUCER), story.invoke("flush", PRODUCER)
    story.after(10_000).overdue(first)
    story.overdue(second)
    assert judged(story.done()) == [("operation-never-ended", Grade.B)]


def test_call_that_ends_in_a_panic_is_found() -> None:
    story = Script()
    story.producer()
    story.complete(story.invoke("flush", PRODUCER), outcome=Outcome.UNKNOWN, error=ErrorClass.FATAL, text="overflow")
    assert judged(story.done()) == [("client-panicked", Grade.C)]


def _given_up(held_up_ms: int) -> Check:
    story = Script()
    story.complete(story.invoke("flush", PRODUCER))
    story.add(AgentEnded, reason="agent x has not answered", held_up_ms=held_up_ms)
    return trial(calls_do_not_hang, story.done(Ending.AGENT_LOST))


def test_an_agent_that_was_kept_from_running_until_it_was_given_up_is_undecided() -> None:
    said = _given_up(held_up_ms=30_000)
    assert (said.findings, said.undecided_because) == ([], "agent x has not answered")


def test_an_agent_that_had_its_time_and_did_not_answer_is_found() -> None:
    assert [finding.code for finding in _given_up(held_up_ms=0).findings] == ["agent-lost"]


def _late_beside_short_waits(*, wait_ms: int, ended: bool = True, closed: bool = False) -> Check:
    """A call whose deadline of 10 s passes in samples of 100 ms, and which ends a second later, if it does."""
    story = Script()
    story.producer()
    asked = story.invoke("flush", PRODUCER)
    for _ in range(100):
        story.after(100).load(100, agent_wait_ms=wait_ms)
    story.overdue(asked)
    if closed:
        story.complete(story.invoke("close", PRODUCER))
    if ended:
        story.after(1_000).complete(asked)
    return trial(calls_do_not_hang, story.done())


def test_call_that_ends_late_by_itself_beside_many_short_waits_of_its_client_is_undecided() -> None:
    said = _late_beside_short_waits(wait_ms=90)
    assert (said.findings, bool(said.undecided_because)) == ([], True)


@pytest.mark.parametrize(
    "otherwise", [{"wait_ms": 20}, {"wait_ms": 100, "ended": False}, {"wait_ms": 90, "closed": True}]
)
def test_late_call_that_had_its_time_or_did_not_end_by_itself_is_found(otherwise: dict[str, Any]) -> None:
    assert [one.code for one in _late_beside_short_waits(**otherwise).findings] == ["operation-never-ended"]


def _behind_one_that_blocks(*, called_ms: int, close_called_ms: int) -> list[tuple[str, Grade]]:
    """A send whose deadline passes at 10,000 ms, a close asked for at 10,500 ms, and the send's end at 11,000 ms."""
    story = Script()
    story.producer()
    asked = story.send(1)
    story.after(10_000).overdue(asked)
    close = story.after(500).invoke("close", PRODUCER)
    end = story.after(500).complete(asked, called_ns=asked.t_ns + called_ms * MS)
    story.complete(close, called_ns=end.t_ns + (close_called_ms - 11_000) * MS)
    return judged(story.done())


@pytest.mark.parametrize("called_ms", [1_100, 9_500])
def test_time_of_a_call_that_waited_behind_others_that_block_begins_when_the_client_is_called(called_ms: int) -> None:
    assert _behind_one_that_blocks(called_ms=called_ms, close_called_ms=11_000) == []


@pytest.mark.parametrize(("called_ms", "close_called_ms"), [(900, 11_000), (1_100, 10_501)])
def test_call_that_took_too_long_itself_or_until_its_producer_was_closed_is_found(
    called_ms: int, close_called_ms: int
) -> None:
    said = _behind_one_that_blocks(called_ms=called_ms, close_called_ms=close_called_ms)
    assert said == [("operation-never-ended", Grade.B)]


def _take_receipt(story: Script) -> None:
    """A fault drops the receipt of message 0."""
    dropped = story.receipt(0, fate=Fate.DROPPED, sides=Sides.SENDER)
    story.fired(action="drop", frames=(dropped.frame,))


@pytest.mark.parametrize(
    ("timeout_ms", "codes"), [(0, []), (10_000, []), (30_000, []), (9_999, ["operation-never-ended"])]
)
def test_send_whose_time_out_is_not_over_waits_for_what_a_fault_took(timeout_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer(send_timeout_ms=timeout_ms)
    asked = story.send(0)
    _take_receipt(story)
    story.at(10_000).overdue(asked)
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"send_timeout_ms"}))
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes


@pytest.mark.parametrize(
    ("released_ms", "timeout_ms", "codes"),
    [
        (12_000, 0, []),
        (9_900, 0, []),
        (5_000, 0, ["operation-never-ended"]),
        (5_000, 30_000, ["operation-never-ended"]),
        (12_000, 30_000, []),
        (12_000, 9_000, ["operation-never-ended"]),
    ],
)
def test_send_whose_time_out_is_not_over_waits_for_what_a_fault_holds(
    released_ms: int, timeout_ms: int, codes: list[str]
) -> None:
    story = Script()
    story.producer(send_timeout_ms=timeout_ms)
    asked = story.send(0)
    held = story.receipt(0, fate=Fate.HELD, sides=Sides.SENDER)
    released: dict[str, Any] = {"frame": held.frame, "fate": Fate.RELEASED, "sides": Sides.RECEIVER}
    if released_ms < 10_000:
        story.at(released_ms).receipt(0, **released)
    story.at(10_000).overdue(asked)
    if released_ms > 10_000:
        story.at(released_ms).receipt(0, **released)
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"send_timeout_ms"}))
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes


@pytest.mark.parametrize(
    ("own", "codes"),
    [
        ({"defaults": {"send_timeout_ms": 30_000}}, []),
        ({"fixed": {"send_timeout_ms": 30_000}}, []),
        ({"same_as": {"send_timeout_ms": "operation_timeout_ms"}}, []),
        ({}, []),
        ({"defaults": {"send_timeout_ms": 5_000}}, ["operation-never-ended"]),
    ],
    ids=str,
)
def test_time_out_that_no_case_sets_is_the_one_that_the_client_declares(own: dict[str, Any], codes: list[str]) -> None:
    story = Script()
    story.producer()
    asked = story.send(0)
    _take_receipt(story)
    story.at(10_000).overdue(asked)
    facts = msgspec.structs.replace(ANY_CLIENT, **{"settable": frozenset(), **own})
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes


@pytest.mark.parametrize("ends", ["connection", "session", "producer"])
def test_what_was_dropped_of_a_session_that_is_over_holds_up_no_send(ends: str) -> None:
    story = Script()
    story.producer()
    asked = story.send(0)
    _take_receipt(story)
    match ends:
        case "connection":
            story.closed()
        case "session":
            story.down("CLOSE_PRODUCER", producer_id=0)
        case _:
            story.complete(story.invoke("close", PRODUCER))
    story.at(10_000).overdue(asked)
    assert judged(story.done()) == [("operation-never-ended", Grade.B)]


@pytest.mark.parametrize(("error", "codes"), [("ServiceNotReady", []), ("ProducerFenced", ["operation-never-ended"])])
def test_send_waits_for_a_producer_that_brokers_put_off_and_not_for_one_that_they_refuse(
    error: str, codes: list[str]
) -> None:
    story = Script()
    story.producer()
    asked = story.send(0)
    story.closed()
    story.connected(conn=1)
    request = story.producer_asks(1)
    story.down("ERROR", 1, request_id=request.request_id, fields={"error": error})
    story.at(10_000).overdue(asked)
    assert [code for code, _ in judged(story.done())] == codes


@pytest.mark.parametrize(
    ("own", "codes"),
    [
        ({"settable": frozenset({"send_timeout_ms"})}, ["operation-never-ended"]),
        ({"fixed": {"send_timeout_ms": 5_000}}, ["operation-never-ended"]),
        ({"fixed": {"send_timeout_ms": 30_000}}, []),
        ({"defaults": {"send_timeout_ms": 0}}, []),
        ({}, []),
    ],
    ids=str,
)
def test_a_deadline_binds_a_client_only_by_a_time_out_that_it_has(own: dict[str, Any], codes: list[str]) -> None:
    story = Script()
    story.producer()
    story.after(10_000).overdue(story.send(0))
    facts = msgspec.structs.replace(ANY_CLIENT, **{"settable": frozenset(), **own})
    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(producer={"send_timeout_ms": 6_000}))
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), case, facts).findings] == codes


@pytest.mark.parametrize(
    ("closes", "timeout_ms", "codes"),
    [
        (True, 30_000, []),
        (True, 9_000, ["operation-never-ended"]),
        (False, 30_000, ["operation-never-ended"]),
    ],
)
def test_request_for_what_was_closed_may_last_as_long_as_the_operation_time_out(
    closes: bool, timeout_ms: int, codes: list[str]
) -> None:
    story = Script()
    story.consumer()
    if closes:
        story.complete(story.invoke("close", CONSUMER))
    seek = story.invoke("seek", CONSUMER)
    story.after(10_000).overdue(seek)
    facts = msgspec.structs.replace(ANY_CLIENT, defaults={"operation_timeout_ms": timeout_ms})
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes


def test_lost_agent_is_found() -> None:
    story = Script()
    story.add(AgentEnded, reason="the agent was killed by signal 11", exit_status=-11)
    assert judged(story.done()) == [("agent-lost", Grade.B)]


def test_what_a_lost_agent_left_open_is_no_finding_of_its_own() -> None:
    story = Script()
    flush = story.invoke("flush", PRODUCER)
    story.after(10_000).overdue(flush)
    story.add(AgentEnded, reason='the agent has not answered "clock"', exit_status=None)
    assert judged(story.done()) == [("agent-lost", Grade.B)]


def test_agent_that_contradicts_its_protocol_is_found_once() -> None:
    story = Script()
    story.add(Garbled, reason="#1 was answered twice")
    story.add(Garbled, reason="#2 was answered twice")
    assert judged(story.done()) == [("agent-contradicts-protocol", Grade.B)]


def test_agent_that_the_case_kills_is_no_finding() -> None:
    story = Script()
    story.producer()
    story.add(AgentEnded, reason="killed, as the Case wants", exit_status=-9, killed=True)
    assert judged(story.done()) == []


@pytest.mark.parametrize(
    ("own", "connected", "codes"),
    [
        ({"defaults": {"connection_timeout_ms": 10_000}}, False, []),
        ({}, False, []),
        ({"defaults": {"connection_timeout_ms": 5_000}}, False, ["operation-never-ended"]),
        ({"defaults": {"connection_timeout_ms": 10_000}}, True, ["operation-never-ended"]),
    ],
    ids=str,
)
def test_call_that_waits_for_a_connection_may_last_as_long_as_connecting_may(
    own: dict[str, Any], connected: bool, codes: list[str]
) -> None:
    story = Script()
    asked = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.opened()
    story.up("CONNECT")
    if connected:
        story.down("CONNECTED")
    story.at(10_000).overdue(asked)
    facts = msgspec.structs.replace(ANY_CLIENT, **own)
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes


@pytest.mark.parametrize(("ready", "codes"), [(False, []), (True, ["operation-never-ended"])])
def test_call_that_waits_for_access_lasts_until_another_producer_is_gone(ready: bool, codes: list[str]) -> None:
    story = Script()
    asked = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected()
    request = story.producer_asks(producer_access_mode="WaitForExclusive")
    for said in (False, *([True] if ready else [])):
        story.down("PRODUCER_SUCCESS", request_id=request.request_id, fields={"producer_ready": said})
    story.at(10_000).overdue(asked)
    facts = msgspec.structs.replace(ANY_CLIENT, defaults={"operation_timeout_ms": 1_000})
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes


@pytest.mark.parametrize(
    ("happens", "codes"),
    [
        ("nothing", []),
        ("a receipt comes", ["operation-never-ended"]),
        ("the connection ends", ["operation-never-ended"]),
        ("the producer is closed", ["operation-never-ended"]),
    ],
)
def test_send_waits_for_a_broker_that_does_not_answer(happens: str, codes: list[str]) -> None:
    story = Script()
    story.producer(send_timeout_ms=30_000)
    asked = story.send(0)
    story.send_frame(0)
    if happens == "a receipt comes":
        story.receipt(0)
    elif happens == "the connection ends":
        story.closed()
    elif happens == "the producer is closed":
        story.complete(story.invoke("close", PRODUCER))
    story.at(10_000).overdue(asked)
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"send_timeout_ms"}))
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes


@pytest.mark.parametrize("verb", ["send", "flush", "close"])
@pytest.mark.parametrize(("blocks", "ended", "codes"), [(True, False, 0), (True, True, 1), (False, False, 1)])
def test_call_that_waits_behind_a_send_that_blocks_has_not_been_made(
    verb: str, blocks: bool, ended: bool, codes: int
) -> None:
    story = Script()
    story.producer()
    first = story.send(0)
    asked = story.invoke(verb, PRODUCER, **({"number": 1} if verb == "send" else {}))
    if ended:
        story.complete(first)
    story.at(10_000).overdue(asked)
    facts = msgspec.structs.replace(ANY_CLIENT, lacks=frozenset({Lack.OVERLAPPING_SENDS} if blocks else ()))
    assert len(trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings) == codes


@pytest.mark.parametrize(
    ("error", "own_ms", "codes"),
    [
        ("ConsumerBusy", 30_000, []),
        ("ConsumerBusy", None, []),
        ("ConsumerBusy", 2_000, ["operation-never-ended"]),
        ("AuthorizationError", 30_000, ["operation-never-ended"]),
        ("", 30_000, ["operation-never-ended"]),
    ],
)
def test_opening_that_was_told_to_try_again_later_may_last_until_its_time_is_over(
    error: str, own_ms: int | None, codes: list[str]
) -> None:
    story = Script()
    story.connected()
    call = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    for number, answer in enumerate(["ServiceNotReady", error]):
        story.up("SUBSCRIBE", consumer_id=1, request_id=number, fields={"topic": story.full("t"), "subscription": "s"})
        story.down("ERROR" if answer else "SUCCESS", request_id=number, fields={"error": answer} if answer else {})
    behind = story.invoke("receive", CONSUMER)
    story.at(10_000).overdue(call)
    story.overdue(behind)
    facts = msgspec.structs.replace(ANY_CLIENT, defaults={"operation_timeout_ms": own_ms} if own_ms else {})
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes


@pytest.mark.parametrize(("since_ms", "codes"), [(9_900, []), (5_000, ["operation-never-ended"])])
def test_send_of_a_producer_that_is_interrupted_again_and_again_may_wait(since_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer(send_timeout_ms=30_000)
    asked = story.send(0)
    story.at(since_ms - 5_000).cut()
    story.at(since_ms).producer_again(1)
    story.at(10_000).overdue(asked)
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"send_timeout_ms"}))
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes


@pytest.mark.parametrize(
    ("ahead", "blocks", "codes"),
    [(12, True, []), (3, True, ["operation-never-ended"]), (12, False, ["operation-never-ended"])],
)
def test_send_may_wait_for_the_time_outs_of_those_in_front_of_it_in_a_queue_that_blocks(
    ahead: int, blocks: bool, codes: list[str]
) -> None:
    story = Script()
    story.producer(send_timeout_ms=1_000, max_pending_messages=2, block_if_queue_full=blocks)
    *before, asked = [story.send(number) for number in range(ahead + 1)]
    for call in before:
        story.after(100).complete(call, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    story.at(10_000).overdue(asked)
    settable = frozenset({"send_timeout_ms", "max_pending_messages", "block_if_queue_full"})
    facts = msgspec.structs.replace(ANY_CLIENT, settable=settable)
    assert [finding.code for finding in trial(calls_do_not_hang, story.done(), ANY_CASE, facts).findings] == codes
