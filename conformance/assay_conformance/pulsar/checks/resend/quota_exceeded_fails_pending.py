from __future__ import annotations

from assay_conformance.model.event import Frame, Outcome
from assay_conformance.pulsar.checks.resend._pending_sends import PendingSend, fail_soon, pending_at
from assay_conformance.pulsar.timeline import Producer, Says, Timeline, breach, check, each, ms

QUOTA_EXCEPTION = "ProducerBlockedQuotaExceededException"


@check("resend.quota-exceeded-fails-pending")
def quota_exceeded_fails_pending(timeline: Timeline) -> Says:
    """resend.quota-exceeded-fails-pending: when the answer to the PRODUCER of one that was admitted before says that
    the backlog is over its quota, every pending send fails promptly. (Whether such a producer comes back is its
    client's choice: Java and C++ go on trying, Go does not.)"""
    first: dict[Producer, Frame] = {}
    for one in timeline.producer_registrations:
        said_so = one.error == QUOTA_EXCEPTION and timeline.had_been_admitted(one)
        if one.producer is not None and one.refusal is not None and said_so:
            first.setdefault(one.producer, one.refusal)
    for producer, word in first.items():
        yield from fail_soon(timeline, producer, word, "that its backlog is over its quota")
        if timeline.was_read(word):
            yield from each(pending_at(timeline, producer, word), _judge_not_kept, timeline)


def _judge_not_kept(timeline: Timeline, pending: PendingSend) -> Says:
    """Judge whether it is not kept: its connection was lost, so what succeeds after that word was sent again."""
    word, unit, end = pending.word, pending.unit, pending.send.completion
    timeline.owner(unit.line)
    if end is not None and end.outcome is Outcome.OK:
        yield breach(
            "kept-pending",
            f"{unit.line} was answered {QUOTA_EXCEPTION} at {ms(word.t_ns)}; {unit} had no receipt; expected its send "
            f"to fail at once; it succeeded at {ms(end.t_ns)}",
            *(word, end),
        )
