"""Calls that an application makes in the callback of a send, or while it runs: how they end."""

from __future__ import annotations

from assay_conformance.checks.consumption import in_force
from assay_conformance.model.event import Completion, Invoke, Outcome, Overdue
from assay_conformance.pulsar.timeline import Exercised, Producer, Says, Timeline, breach, ms
from assay_conformance.pulsar.timeline.callbacks import CalledIn, waits_for_answer
from assay_conformance.pulsar.timeline.time_outs import waits_behind_send


def waits(timeline: Timeline, call: Invoke) -> bool:
    """Return whether a call returns only when its broker has answered; a send into a queue that blocks may wait for an
    answer that makes room."""
    if call.verb == "send" and timeline.view.producer_setting(call.handle or 0, "block_if_queue_full"):
        return True
    consumer = timeline.consumer(call.handle) if call.verb == "ack" else None
    receipts = consumer is not None and bool(in_force(timeline.view, consumer, "ack_receipt"))
    return waits_for_answer(call, acks_are_answered=receipts)


def judge_ends(timeline: Timeline, called: CalledIn) -> Says:
    """Judge whether it ends, well or badly.

    Not judged where frames were lost or held, receipts are owed, or its callback was left waiting.
    """
    call, callback, beside = called
    end = timeline.end_of(call.op)
    overdue = timeline.overdue_of(call.op)
    if overdue is None or (end is not None and not timeline.was_overdue(end)):
        if end is not None and end.outcome is not Outcome.UNSUPPORTED:
            yield Exercised(end)
        return
    left_waiting = (beside and callback.let is None) or waits_behind_send(timeline, overdue)
    if left_waiting or _waits_for_receipts(timeline, call, overdue) or _is_disturbed(timeline, call, overdue):
        return
    timeline.bounds.check_fair("answer", call.t_ns, overdue.t_ns, what="whether a call only ended late")
    where = "while it ran" if beside else "in it"
    yield breach(
        "never-ended",
        f"{callback} began at {ms(callback.began.t_ns)}, and {call.verb} of handle {call.handle} was called {where} at "
        f"{ms(call.t_ns)}; expected the call to end; it had not by {ms(overdue.t_ns)}",
        *(callback.began, call, overdue),
    )


def _waits_for_receipts(timeline: Timeline, call: Invoke, until: Overdue) -> bool:
    """Return whether something that its producer has sent has no answer: what is called of it may wait for that."""
    lines = timeline.producers_of(-1 if call.handle is None else call.handle)
    return any(_is_never_answered(timeline, line, until) for line in lines)


def _is_never_answered(timeline: Timeline, line: Producer, until: Overdue) -> bool:
    return any(not unit.receipts and not unit.errors for unit in timeline.pending.unanswered(line, until))


def _is_disturbed(timeline: Timeline, call: Invoke, until: Completion | Overdue) -> bool:
    topics = [topic.name for topic in timeline.topology.topics]
    handle = -1 if call.handle is None else call.handle
    return next(timeline.obstacles.between(call.t_ns, until, handle, topics), None) is not None
