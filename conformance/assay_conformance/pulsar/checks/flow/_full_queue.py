"""What a queue may hold when a send is refused because it is full."""

from __future__ import annotations

from typing import Final

from assay_conformance.checks.base import View
from assay_conformance.model.event import Completion, ErrorClass, Invoke
from assay_conformance.pulsar.timeline import MS, Send, Timeline

DEFAULT_MAX_PENDING: Final = 1_000
SETTLED_NS: Final = 100 * MS
"""How long before a call another send must have ended for its place to be certainly free."""


def refused_sends(timeline: Timeline) -> list[Completion]:
    """Sends that a full queue refused, also those that an agent says ended well."""
    ends = (end for end in timeline.events.completions("send") if end.handle is not None)
    return [end for end in ends if end.error is ErrorClass.QUEUE_FULL]


def held(timeline: Timeline, handle: int, call: Invoke) -> list[Send]:
    """Sends of this producer asked for before this call that may still have had a place in the queue at the call."""
    return [send for send in timeline.sends_of(handle) if may_hold(send, call)]


def may_hold(send: Send, call: Invoke) -> bool:
    """Whether a send asked for before this call may still have had its place in the queue at the call."""
    return send.invoke.seq < call.seq and _may_live(send, call)


def memory_surely_fits(view: View, handle: int, call: Invoke, refusal: Completion) -> bool:
    """Whether the memory limit of a producer's client had room for this send, as far as is known when it is refused.

    Calls of other producers may reach the client in another order. Batches under way may hold more than what is in
    them, and so may a client that has consumers: for the letters they post, or for what they prefetch.
    """
    tracker, openings = view.tracker, view.tracker.lines.openings
    limit, client = view.client_setting(handle, "memory_limit_bytes"), openings[handle].args.get("client")
    if not limit:
        return True
    its = [other for other, opening in openings.items() if opening.args.get("client") == client]
    opened = (consumer.invoke for consumer in tracker.opened_consumers.values())
    consumes = any(one.args.get("client") == client and one.seq < refusal.seq for one in opened)
    if consumes or not tracker.lines.burst.isdisjoint(its):
        return False
    held_bytes = call.size or 0
    for other in its:
        before = call.seq if other == handle else refusal.seq
        sends = (send for send in tracker.sends.get(other, ()) if send.invoke.seq < before)
        mine = [send for send in sends if _may_live(send, call)]
        if mine and view.producer_setting(other, "batching"):
            return False
        held_bytes += sum(send.invoke.size or 0 for send in mine)
    return held_bytes <= int(limit)


def _may_live(send: Send, call: Invoke) -> bool:
    end = send.completion
    if end is None:
        return True
    return end.error is not ErrorClass.QUEUE_FULL and (end.done_ns or end.t_ns) > call.t_ns - SETTLED_NS
