from __future__ import annotations

from assay_conformance.checks.consumption import moves_to_dead_letter, of_batch
from assay_conformance.ledger.clauses import LEAST_DELAY_MS
from assay_conformance.model.event import Completion, Frame, Invoke, Outcome
from assay_conformance.pulsar.checks.nack._windows import WIDEST_TICK_FRACTION
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Timeline, breach, check, session_for
from assay_conformance.pulsar.timeline.moments import RedeliverWritten, SessionOver

IDS_OF_A_COMMAND = 1_000
"""Clients split a request that names more."""


@check("nack.requests-merged", of=lambda timeline: timeline.events.invokes("nack"))
def requests_merged(timeline: Timeline, invoke: Invoke) -> Says:
    """nack.requests-merged: messages nacked by one call are due together, and are requested by one command: one more if
    a tick of the timer fell into the time that the client needed to take the call, and more only for more ids than a
    command takes."""
    calls = timeline.calls_of(invoke)
    entries = {call.entry for call in calls if not of_batch(call.message.message_id)}
    if len(entries) <= 2 or len({entry.topic for entry in entries}) > 1:
        return
    # Those whose letters cannot be sent come back one by one.
    if session_for(calls[0], invoke) is None or moves_to_dead_letter(timeline.view, calls[0].consumer):
        return
    commands, whole, completion = list[Frame](), len(entries), calls[0].operation.completion
    for moment in timeline.moments(calls[0].consumer, after=invoke):
        if isinstance(moment, SessionOver) or not entries:
            break
        if isinstance(moment, RedeliverWritten) and not moment.named.isdisjoint(entries):
            commands.append(moment.event)
            entries -= moment.named
    if entries or completion is None or completion.outcome is not Outcome.OK:
        return
    ticks = _took_ns(invoke, completion) // round(LEAST_DELAY_MS * MS * WIDEST_TICK_FRACTION)
    most = -(-whole // IDS_OF_A_COMMAND) + 1 + ticks
    split = breach(
        "not-merged",
        f"the application nacked {whole} messages on consumer {calls[0].consumer.handle} by one call; expected at "
        f"most {most} REDELIVER commands for them; there were {len(commands)}",
        invoke,
        *commands[:2],
    )
    yield Exercised(commands[-1]) if len(commands) <= most else split


def _took_ns(invoke: Invoke, completion: Completion) -> int:
    """Return how long the client took its messages over, by its agent's clock where that is known.

    The agent's report may take longer to reach the bench.
    """
    if completion.called_ns is None or completion.done_ns is None:
        return completion.t_ns - invoke.t_ns
    return completion.done_ns - completion.called_ns
