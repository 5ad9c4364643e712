"""robustness.calls-do-not-hang

A hang is one finding of this requirement, and none of the requirements whose Case it stopped.
"""

from __future__ import annotations

from assay_conformance.model.event import AgentEnded, Completion, ErrorClass, Garbled, Overdue
from assay_conformance.pulsar.checks.producer._callbacks import waits
from assay_conformance.pulsar.timeline import MS, Breach, Exercised, Says, Timeline, TooBusyError, breach, check, each
from assay_conformance.pulsar.timeline.time_outs import (
    OF_SENDS,
    connecting_ms,
    key_of,
    time_out_ms,
    turns_ahead,
    waits_behind_send,
    waits_for_access,
    waits_for_receipt,
    waits_on_closed,
    was_put_off,
)

NEVER_ENDED = "operation-never-ended"
AGENT_LOST = "agent-lost"
AGENT_GARBLED = "agent-contradicts-protocol"
PANICKED = "client-panicked"


@check("robustness.calls-do-not-hang")
def calls_do_not_hang(timeline: Timeline) -> Says:
    """robustness.calls-do-not-hang: every operation completes before its deadline, and not in a panic of the client;
    the agent neither ends before the Case nor breaks its protocol.

    A deadline that passed while the machine did not let the client run proves nothing, nor does the end of a process
    that was given up because it could not run. A call that ended after its deadline by itself is no hang, and may be
    late for many short waits of its client as for a long one; a client that is busy for ever does not end it. A process
    that a fault of the Case killed is not judged. Nor is a call whose own time-out, configured or as the client
    declares it, is not over by then, or not known: where the Case sets it and the client does not let it be set; nor
    one that may wait for a connection on which nothing answers, or for access that another producer has; nor an opening
    that was to try again later, nor a request for what was closed before its operation time-out; and of sends,
    where frames of a connection that lasts were dropped, or are held, or brokers refuse the producer, do not answer, or
    take it from its topic again and again: the receipt may come later, or not at all; nor a send into a queue that
    blocks, after so many that their time-outs take as long. The deadline counts from the start of the client's call: a
    call may wait for others that block, as every send of some clients. What waits for its broker in the callback of a
    send may stop a client (`producer.waiting-calls-in-callback-end`), and is not judged here, nor is what comes then.
    """
    for end in timeline.events.of(Completion):
        yield Exercised(end)
        if end.error is ErrorClass.FATAL:
            text = f"{end.verb} (operation {end.op}) ended in a panic of the client: {end.text or 'without a text'}"
            yield breach(PANICKED, f"{text}; expected a result, or an error that it reports", end)
    ended = [one for one in timeline.events.of(AgentEnded) if not one.killed]
    wrong: list[Breach] = [breach(AGENT_LOST, one.reason, one) for one in ended if not one.held_up_ms]
    wrong += [breach(AGENT_GARBLED, one.reason, one) for one in timeline.events.of(Garbled)[:1]]
    yield from wrong
    # Nothing ends any more after an agent was lost: operations that were pending then are not reported.
    if not wrong:
        yield from each([[one for one in ended if one.held_up_ms]], _all_end, timeline)


def _all_end(timeline: Timeline, held_up: list[AgentEnded]) -> Says:
    if held_up:
        raise TooBusyError(held_up[-1].reason)
    overdue = [one for one in timeline.events.of(Overdue) if not _is_held_up_by_the_application(timeline, one)]
    stuck = [one for one in overdue if _has_to_end(timeline, one) and not _ended(timeline, one)]
    left_time = (one for one in stuck if _had_its_time(timeline, one))
    never_ended = next(left_time, None)
    if never_ended is not None:
        yield breach(NEVER_ENDED, _describe(never_ended), never_ended)
    elif stuck:
        raise TooBusyError(f"the machine was too busy to judge a deadline: {_describe(stuck[0])}")


def _had_its_time(timeline: Timeline, overdue: Overdue) -> bool:
    load = timeline.bounds.load
    late = timeline.end_of(overdue.op)
    by_itself = late is not None and not _closed_before(timeline, overdue, late)
    return load.left_time_for(overdue) and not (by_itself and load.took_much_of(overdue))


def _has_to_end(timeline: Timeline, overdue: Overdue) -> bool:
    """Return whether a call has to end: its own time-out is over, or nothing lets it go on for longer."""
    if waits_for_access(timeline, overdue.handle, overdue) or waits_behind_send(timeline, overdue):
        return False
    own_ms, is_send = time_out_ms(timeline, overdue.verb, overdue.handle), overdue.verb in OF_SENDS
    longer_ms = 0 if is_send else connecting_ms(timeline, overdue.handle, overdue)
    if longer_ms is None or (longer_ms and (own_ms or 0) + longer_ms >= overdue.deadline_ms):
        return False
    if own_ms and own_ms < overdue.deadline_ms:
        return own_ms * (1 + turns_ahead(timeline, overdue)) < overdue.deadline_ms
    view = timeline.view
    if key_of(overdue.verb) in view.facts.unsettable(view.case):
        return False
    if not is_send:
        return not (was_put_off(timeline, overdue) or waits_on_closed(timeline, overdue))
    return not waits_for_receipt(timeline, overdue.handle or 0, overdue, for_ever=own_ms == 0)


def _is_held_up_by_the_application(timeline: Timeline, overdue: Overdue) -> bool:
    """Return whether it waits in the callback of a send, or after a call that does, where clients need not go on."""
    waiting = (one.invoke for one in timeline.calls_in_callbacks if not one.beside and waits(timeline, one.invoke))
    return any(timeline.is_pending(call, overdue) for call in waiting)


def _ended(timeline: Timeline, overdue: Overdue) -> bool:
    """Return whether it ended in time, counted from the call, and not because its handle or client was closed."""
    end = timeline.end_of(overdue.op)
    if end is None or end.called_ns is None:
        return False
    done_ns = end.done_ns or end.t_ns
    if done_ns - end.called_ns >= overdue.deadline_ms * MS:
        return False
    return not _closed_before(timeline, overdue, end)


def _closed_before(timeline: Timeline, overdue: Overdue, end: Completion) -> bool:
    """Return whether its handle or a client was closed, or may have been, when the operation ended."""
    done_ns = end.done_ns or end.t_ns
    closed = {overdue.handle, *(client.handle for client in timeline.events.invokes("open_client"))}
    closes = (one for one in timeline.events.invokes("close") if one.op != overdue.op and one.seq < end.seq)
    ends = (timeline.end_of(close.op) for close in closes if close.handle in closed)
    return any(one is None or (one.called_ns or 0) < done_ns for one in ends)


def _describe(overdue: Overdue) -> str:
    return (
        f"{overdue.verb} (operation {overdue.op}) had not ended {overdue.deadline_ms} ms after it was called; expected "
        "it to end by then"
    )
