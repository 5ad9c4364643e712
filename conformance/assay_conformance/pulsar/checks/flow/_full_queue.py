"""What a queue may hold when a send is refused because it is full."""

from __future__ import annotations

from typing import Final

from assay_conformance.model.event import Completion, ErrorClass, Invoke, Outcome
from assay_conformance.pulsar.timeline import Send, Timeline
from assay_conformance.pulsar.timeline.queued import queued_sends

DEFAULT_MAX_PENDING: Final = 1_000


def refused_sends(timeline: Timeline) -> list[Completion]:
    """Return sends that a full queue refused, also those that an agent reports as successful.

    One that may have happened was refused by something else, such as a limit of the lookups of a producer that opens
    lazily: for want of room in its queue a client surely sends nothing.
    """
    ends = (end for end in timeline.events.completions("send") if end.handle is not None)
    return [end for end in ends if end.error is ErrorClass.QUEUE_FULL and end.outcome is not Outcome.UNKNOWN]


def held(timeline: Timeline, handle: int, call: Invoke) -> list[Send]:
    """Return the producer's sends made before this call that may still have had a place in the queue at it."""
    return list(timeline.once(queued_sends)[handle].held(call, call.seq))


def count_held(timeline: Timeline, handle: int, call: Invoke) -> int:
    """Return how many these are."""
    return timeline.once(queued_sends)[handle].count_held(call, call.seq)[0]


def memory_surely_fits(timeline: Timeline, handle: int, call: Invoke, refusal: Completion) -> bool:
    """Return whether the memory limit of a producer's client had room for a refused send, as far as is known.

    Calls of other producers may reach the client in another order. Batches under way may hold more than what is in
    them, and so may a client that has consumers: for the letters they post, or for what they prefetch.
    """
    view, openings = timeline.view, timeline.openings
    limit, client = view.client_setting(handle, "memory_limit_bytes"), openings[handle].args.get("client")
    if not limit:
        return True
    its = timeline.producers_of_client(client)
    opened = (consumer.invoke for consumer in view.tracker.opened_consumers.values())
    consumes = any(one.args.get("client") == client and one.seq < refusal.seq for one in opened)
    if consumes or not timeline.bursts.isdisjoint(its):
        return False
    held_bytes = call.size or 0
    for other in its:
        count, its_bytes = timeline.once(queued_sends)[other].count_held(
            call, call.seq if other == handle else refusal.seq
        )
        if count and view.producer_setting(other, "batching"):
            return False
        held_bytes += its_bytes
    return held_bytes <= int(limit)
