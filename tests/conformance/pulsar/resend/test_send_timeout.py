"""resend.send-timeout, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Fired, Outcome
from assay_conformance.model.fault import Direction, Fault, Inject, OnFrame
from assay_conformance.pulsar.checks.resend.send_timeout import send_timeout
from assay_conformance.wire import CommandType, command, encode

PING = encode(command(CommandType.PING))


AHEAD_NS = 40 * MS
"""How far an agent's clock may be taken to be ahead of the bench's, on a busy machine."""


def _codes(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


def _timed(timeout_ms: int = 500, count: int = 1) -> Script:
    story = Script()
    story.producer(send_timeout_ms=timeout_ms)
    story.at(100)
    for number in range(count):
        story.send(number)
        story.send_frame(number)
    return story


def test_time_out_in_time_is_accepted() -> None:
    story = _timed()
    story.at(610).unknown(0)
    check = trial(send_timeout, story.done())
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(
    ("lazy", "ends_ms", "codes"),
    [(True, 300, []), (True, 1_500, []), (False, 300, ["early"]), (False, 1_500, ["late"])],
)
def test_send_that_opens_its_partition_times_out_with_the_opening(lazy: bool, ends_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer(send_timeout_ms=500, lazy_start_partitioned_producers=lazy)
    call = story.send(0)
    story.producer_asks(producer_id=1)
    story.at(ends_ms).complete(call, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT, called_ns=call.t_ns)
    assert _codes(trial(send_timeout, story.done())) == codes


def test_late_time_out_is_found() -> None:
    story = _timed()
    story.at(1500).unknown(0)
    assert _codes(trial(send_timeout, story.done())) == ["late"]


def test_missing_time_out_is_found() -> None:
    assert _codes(trial(send_timeout, _timed().at(5000).done())) == ["never"]


def test_early_time_out_of_the_oldest_send_is_found() -> None:
    story = _timed()
    story.at(300).unknown(0)
    assert _codes(trial(send_timeout, story.done())) == ["early"]


@pytest.mark.parametrize(("took_ms", "codes"), [(500, []), (300, ["early"])])
def test_how_long_a_send_took_is_judged_by_the_agents_own_clock(took_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer(send_timeout_ms=500)
    call = story.at(100).send(0)
    story.send_frame(0)
    called_ns = call.t_ns + AHEAD_NS
    done_ns = called_ns + took_ms * MS
    story.at(100 + took_ms).complete(
        call, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT, called_ns=called_ns, done_ns=done_ns
    )
    assert _codes(trial(send_timeout, story.done())) == codes


def test_young_sends_may_die_with_the_oldest() -> None:
    story = _timed()
    story.at(550).send(1)
    story.at(602).unknown(0)
    story.unknown(1)
    assert _codes(trial(send_timeout, story.done())) == []


def test_young_sends_may_die_with_an_oldest_one_whose_receipt_comes_then() -> None:
    story = _timed()
    story.at(400).send(1)
    story.at(602).unknown(0)
    story.unknown(1)
    story.at(700).receipt(0)
    assert _codes(trial(send_timeout, story.at(5_000).done())) == []


def test_young_sends_may_die_with_one_that_was_asked_for_while_the_producer_opened() -> None:
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t", "config": {"send_timeout_ms": 500}})
    first = story.send(0)
    story.connected()
    story.producer_ready()
    called_ns = story.complete(opening).t_ns
    story.at(300).send(1)
    story.at(520).complete(first, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT, called_ns=called_ns)
    story.unknown(1)
    assert _codes(trial(send_timeout, story.done())) == []


def test_send_that_waited_for_a_connection_is_due_from_its_call() -> None:
    story = Script()
    story.producer(send_timeout_ms=500)
    story.cut()
    call = story.at(100).send(0)
    story.producer_again(1)
    story.at(400).send_frame(0, conn=1)
    story.at(610).complete(call, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT, called_ns=None)
    assert _codes(trial(send_timeout, story.done())) == []


def test_sends_that_a_busy_machine_times_out_one_by_one_are_undecided() -> None:
    story = _timed()
    story.at(400).send(1)
    story.at(602).unknown(0)
    story.at(800).load(300, agent_wait_ms=200)
    story.unknown(1)
    check = trial(send_timeout, story.done())
    assert (_codes(check), bool(check.undecided_because)) == ([], True)


def test_send_receipted_in_time_does_not_time_out() -> None:
    story = _timed()
    story.receipt(0)
    story.ok(0)
    check = trial(send_timeout, story.at(5000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_time_out_of_a_send_whose_receipt_came_long_before_is_found() -> None:
    story = _timed(2_000)
    story.receipt(0)
    story.at(2_110).unknown(0)
    assert _codes(trial(send_timeout, story.done())) == ["though-receipted"]


@pytest.mark.parametrize(("raw", "codes"), [(b"nothing", []), (PING, ["though-receipted"])])
def test_receipt_behind_bytes_that_are_no_frame_is_read_by_nobody(raw: bytes, codes: list[str]) -> None:
    fault = Fault(trigger=OnFrame(command="SEND_RECEIPT", direction=Direction.TO_CLIENT), action=Inject(raw=raw))
    story = _timed(2_000)
    story.add(Fired, fault=0, action="inject", conn=0)
    story.receipt(0)
    story.at(2_110).unknown(0)
    case = msgspec.structs.replace(ANY_CASE, faults=(fault,))
    assert _codes(trial(send_timeout, story.done(), case)) == codes


def test_receipt_around_a_cut_does_not_keep_a_send_from_timing_out() -> None:
    story = _timed(2_000)
    story.receipt(0)
    story.cut()
    story.at(2_110).unknown(0)
    assert _codes(trial(send_timeout, story.done())) == []


def test_receipt_behind_a_refused_send_may_find_nobody() -> None:
    story = _timed(2_000, count=2)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "PersistenceError"})
    story.receipt(1)
    story.at(2_110).unknown(0)
    story.unknown(1)
    assert _codes(trial(send_timeout, story.done())) == []


def test_success_long_after_the_time_out_is_found() -> None:
    story = _timed()
    story.at(3000).receipt(0)
    story.ok(0)
    assert _codes(trial(send_timeout, story.done())) == ["late"]


def test_time_out_switched_off_is_not_judged() -> None:
    assert _codes(trial(send_timeout, _timed(0).at(60_000).done())) == []


def test_time_out_on_a_busy_machine_is_undecided() -> None:
    story = _timed()
    story.at(1500).load(1400, agent_wait_ms=200)
    story.unknown(0)
    check = trial(send_timeout, story.done())
    assert (_codes(check), bool(check.undecided_because)) == ([], True)


def test_send_that_the_client_may_never_have_been_given_is_not_judged() -> None:
    story = Script()
    story.producer(send_timeout_ms=500)
    story.send(0)
    assert _codes(trial(send_timeout, story.at(5000).done())) == []


def _batched(ended_ms: int) -> Check:
    """Message 0 waits 1,000 ms in an open batch, longer than the 500 ms it has, and ends at `ended_ms`."""
    story = Script()
    story.producer(send_timeout_ms=500, batching=True, batching_max_publish_delay_ms=1_000)
    story.at(100).send(0)
    story.at(1100).send_frame(0, batch=True)
    story.at(ended_ms).unknown(0)
    return trial(send_timeout, story.done())


def test_time_out_since_the_batch_closed_is_accepted() -> None:
    check = _batched(1_610)
    assert (check.findings, check.exercised) == ([], 1)


def test_time_out_as_soon_as_the_batch_closed_is_accepted() -> None:
    assert _codes(_batched(1_110)) == []


def test_late_time_out_of_a_batch_is_found() -> None:
    assert _codes(_batched(2_000)) == ["late"]


def test_time_out_runs_from_the_call() -> None:
    story = _timed()
    story.at(1610)
    call = next(event for event in story.events if getattr(event, "verb", "") == "send")
    story.complete(call, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT, called_ns=1_100_000_000)  # type: ignore[arg-type]
    assert _codes(trial(send_timeout, story.done())) == []


def test_receipt_ahead_of_the_oldest_send_ends_nothing() -> None:
    """That is for another requirement: the client closes the connection, and sends again."""
    story = _timed(count=2)
    story.receipt(1)
    story.at(2_000).unknown(0)
    story.unknown(1)
    assert "though-receipted" not in _codes(trial(send_timeout, story.done()))
