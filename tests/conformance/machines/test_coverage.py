"""What a hand-written history covered."""

from __future__ import annotations

from assay_conformance.history.script import Script
from assay_conformance.machines.coverage import IDLE, Coverage, coverage, label
from assay_conformance.model.case import Case, Step, Who
from assay_conformance.model.event import AgentEnded, ErrorClass, Meta, Outcome, Stepped
from assay_conformance.model.fault import Cut, CutHow, Direction, Drop, Fault, OnFrame

LOST = Fault(trigger=OnFrame(command="SEND_RECEIPT", direction=Direction.TO_CLIENT), action=Drop())
ENDS = Fault(trigger=OnFrame(command="SEND", direction=Direction.TO_BROKER), action=Cut(how=CutHow.FIN))
STEPS = (Step(Who.AGENT, "send"), Step(Who.WAIT, "ops"), Step(Who.BROKER, "unload"))
CASE = Case(id="generated/x", title="x", requirements=(), steps=STEPS, faults=(LOST, ENDS))


def _covered(story: Script) -> Coverage:
    return coverage(story.done(), CASE)


def test_a_fault_is_named_by_what_it_does_and_where() -> None:
    assert [label(LOST), label(ENDS)] == ["drop SEND_RECEIPT", "cut fin SEND"]


def test_a_fault_while_a_send_is_under_way_met_a_client_that_sends() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.fired(0, "drop")
    assert _covered(story).pairs == (("sending", "drop SEND_RECEIPT"),)


def test_openings_that_succeed_and_those_that_fail_are_told_apart() -> None:
    story = Script()
    story.producer()
    refused = story.invoke("open_consumer", 3, args={"topics": ["t"], "subscription": "s"})
    story.complete(refused, outcome=Outcome.FAIL, error=ErrorClass.INVALID_CONFIG, text="no such option")
    covered = _covered(story)
    assert (covered.opened, covered.failed) == (
        ("open_producer",),
        (("open_consumer", "invalid_config: no such option"),),
    )


def test_a_fault_behind_the_receipt_met_nobody_at_work() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.ok(0)
    story.fired(0, "drop")
    assert _covered(story).pairs == ((IDLE, "drop SEND_RECEIPT"),)


def test_a_fault_before_the_producer_is_back_met_a_client_that_connects() -> None:
    story = Script()
    story.producer()
    story.closed()
    story.fired(1, "cut")
    assert _covered(story).pairs == (("connecting", "cut fin SEND"),)


def test_a_second_connection_is_a_reconnect_once_the_first_is_lost() -> None:
    story = Script()
    story.producer()
    assert not _covered(story).reconnected
    story = Script()
    story.producer()
    story.closed()
    story.opened(1)
    assert _covered(story).reconnected


def test_what_was_sent_in_batches_or_in_chunks_is_told() -> None:
    story = Script()
    story.producer()
    assert (_covered(story).batched, _covered(story).chunked) == (False, False)
    story.send_frame(0, 1)
    assert (_covered(story).batched, _covered(story).chunked) == (True, False)
    story.send_frame(2, meta=Meta(producer_name="p", sequence_id=2, chunk_id=0))
    assert _covered(story).chunked


def test_a_client_that_is_closed_has_lost_nothing() -> None:
    story = Script()
    story.invoke("open_client", handle=1)
    story.producer()
    story.invoke("close", handle=1)
    story.closed()
    story.opened(1)
    assert not _covered(story).reconnected
    story.closed(1)
    story.opened(2)
    assert _covered(story).reconnected


def test_who_comes_behind_a_process_that_ended_has_lost_nothing() -> None:
    story = Script()
    story.producer()
    story.closed()
    story.add(AgentEnded, reason="killed", killed=True)
    story.opened(1)
    assert not _covered(story).reconnected


def test_waits_and_skipped_steps_are_none_that_were_carried_out() -> None:
    events = [
        Stepped(seq=0, t_ns=0, step=0),
        Stepped(seq=1, t_ns=0, step=1),
        Stepped(seq=2, t_ns=0, step=2, skipped="there is no such handle"),
    ]
    assert coverage(events, CASE).steps == 1
