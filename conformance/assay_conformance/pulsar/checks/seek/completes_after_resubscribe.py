from __future__ import annotations

from assay_conformance.checks.parts import takes_several
from assay_conformance.pulsar.checks.seek._hanging import never_ends
from assay_conformance.pulsar.checks.seek._seeking import Sought, seeks, target_of
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@check("seek.completes-after-resubscribe", of=seeks, keeps_away=never_ends)
def completes_after_resubscribe(timeline: Timeline, sought: Sought) -> Says:
    """seek.completes-after-resubscribe: a seek that closed its consumer ends once the consumer has subscribed again:
    not before, and soon after.

    Where the broker's answer comes before CLOSE_CONSUMER, the client may end the seek while it is still connected.
    """
    end, closed, answered = sought.completion, sought.closed, sought.answered
    if end is not None and sought.is_done(end) and answered is not None and answered.seq < end.seq:
        if closed is None or closed.seq > answered.seq:
            return
        ready = [one.admitted for one in sought.sessions() if one.admitted is not None]
        if any(one.seq < end.seq for one in ready):
            yield Exercised(end)
            return
        yield breach(
            "ended-while-away",
            f"consumer {sought.consumer.handle} sought {target_of(sought.invoke)}, and the broker closed it at "
            f"{ms(closed.t_ns)}; expected the call to end after it has subscribed again; it ended before, at "
            f"{ms(end.t_ns)}",
            *(closed, answered, end),
        )
    elif not takes_several(timeline.view, sought.consumer):
        yield from _not_ended(timeline, sought)


def _not_ended(timeline: Timeline, sought: Sought) -> Says:
    """Judge a seek that has not ended: each session since the SEEK gave it all the time until that ended."""
    answered, end = sought.answered, sought.completion
    until = sought.until if end is None else end.seq
    for session in sought.sessions() if answered is not None else ():
        ready = session.admitted
        if ready is None or ready.seq > until:
            continue
        for over in timeline.consumer_sessions.ends(session):
            if answered is None or not max(ready.seq, answered.seq) < over.seq < until:
                continue
            since_ns = max(ready.t_ns, answered.t_ns)
            if timeline.bounds.is_missing("answer", since_ns, over.t_ns, what="the end of a seek"):
                yield breach(
                    "not-ended",
                    f"consumer {sought.consumer.handle} sought {target_of(sought.invoke)}, and at {ms(since_ns)} the "
                    "broker had answered and the consumer had subscribed again; expected the call to end; it had not "
                    f"by {ms(over.t_ns)}",
                    *(sought.invoke, answered, ready),
                )
