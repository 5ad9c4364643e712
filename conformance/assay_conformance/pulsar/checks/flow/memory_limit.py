from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.timeline import Exercised, FirstSend, Says, Timeline, breach, check, ms


class _Full(NamedTuple):
    """A SEND that leaves while messages of all producers of its client together reach the limit. `handles`: of these
    producers."""

    client: Invoke
    handles: list[int]
    limit: int
    first: FirstSend
    sizes: list[int]


def _full(timeline: Timeline) -> Iterator[_Full]:
    for client in timeline.events.invokes("open_client"):
        its = timeline.producers_of_client(client.handle)
        limit = int(timeline.view.client_setting(its[0], "memory_limit_bytes") or 0) if its else 0
        for first in timeline.first_sends(*its) if limit else ():
            if sum(first.in_flight.bytes[handle] for handle in its) >= limit:
                sends = (send for handle in its for send in first.in_flight.sends(handle))
                yield _Full(client, its, limit, first, [send.invoke.size or 0 for send in sends])


@check("flow.memory-limit", of=_full)
def memory_limit(timeline: Timeline, full: _Full) -> Says:
    """flow.memory-limit: messages without a receipt, of all producers of a client together, hold no more bytes than its
    limit; one message may cross it."""
    client, handles, limit, first, sizes = full
    timeline.check_forged_answers(first.frame, *handles)
    yield Exercised(first.frame)
    if sum(sizes) - max(sizes) > limit:
        yield breach(
            "too-many-bytes",
            f"{sum(sizes)} bytes of {len(sizes)} messages of client {client.handle} were without a receipt at "
            f"{ms(first.frame.t_ns)}; expected at most memory_limit_bytes, {limit}, and one message of up to "
            f"{max(sizes)} bytes",
            *(client, first.frame),
        )
