from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, Invoke, Outcome
from assay_conformance.pulsar.checks.subscription._unsubscribing import Unsubscribed, unsubscribed
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms, whose


def _closes(timeline: Timeline) -> Iterator[tuple[Unsubscribed, Completion]]:
    """Yield the ends of closes of a consumer, or of its client, that were called when the consumer had unsubscribed."""
    gone = [one for one in unsubscribed(timeline) if one.succeeded]
    for end in timeline.ends("close") if gone else ():
        call = timeline.call(end)
        for before in gone:
            handles = (before.consumer.handle, before.consumer.invoke.args.get("client"))
            if (
                end.handle in handles
                and before.end.seq < call.seq
                and not _fails_for_another(timeline, before, call, end)
            ):
                yield before, end


def _fails_for_another(timeline: Timeline, before: Unsubscribed, call: Invoke, end: Completion) -> bool:
    """Return whether the broker refused, or did not answer, to close another producer or consumer of the client."""
    for request in timeline.requests("CLOSE_PRODUCER", "CLOSE_CONSUMER"):
        if call.seq < request.frame.seq < end.seq and (request.error or request.answer is None):
            owner = whose(timeline.registered(request.frame), end)
            if owner is None or owner.handle != before.consumer.handle:
                return True
    return False


@check("subscription.closes-after-unsubscribe", of=_closes)
def closes_after_unsubscribe(timeline: Timeline, close: tuple[Unsubscribed, Completion]) -> Says:
    """subscription.closes-after-unsubscribe: a consumer that has unsubscribed, and its client, close without an error.

    Only the first close of each: a second one may be refused as that, and one behind its client's is a second one.
    """
    before, end = close
    closed_with = (end.handle, before.consumer.invoke.args.get("client"))
    if any(other.handle in closed_with and other.seq < end.seq for other in timeline.events.completions("close")):
        return
    yield Exercised(end)
    if end.outcome is not Outcome.OK:
        what = "the consumer" if end.handle == before.consumer.handle else "its client"
        yield breach(
            "close-failed",
            f"consumer {before.consumer.handle} unsubscribed with success at {ms(before.end.t_ns)}; expected closing "
            f"{what} to succeed; it failed at {ms(end.t_ns)} ({end.error}: {end.text})",
            *(before.end, end),
        )
