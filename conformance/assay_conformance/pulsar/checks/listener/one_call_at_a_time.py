from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from assay_conformance.pulsar.timeline import Exercised, HandlerCall, Says, Timeline, breach, check, ms


def _pairs(timeline: Timeline) -> Iterator[tuple[HandlerCall, HandlerCall]]:
    """Yield two calls about one partition, or one key of it, the one after the other."""
    lines: dict[tuple[Any, ...], list[HandlerCall]] = {}
    for call in timeline.handler_calls:
        entry, consumer = timeline.entry_of(call.message), call.consumer
        by_key = any(session.request.fields.get("subType") == "Key_Shared" for session in consumer.sessions)
        key = call.message.key if by_key else None
        if entry is not None and (key is not None or not by_key):
            lines.setdefault((consumer.handle, entry.topic, key), []).append(call)
    for line in lines.values():
        yield from pairwise(line)


@check("listener.one-call-at-a-time", of=_pairs)
def one_call_at_a_time(timeline: Timeline, pair: tuple[HandlerCall, HandlerCall]) -> Says:
    """listener.one-call-at-a-time: a consumer's handler calls for one partition, of Key_Shared for one key, do not
    overlap.

    Of Key_Shared consumers what has no key is not judged: clients spread it over threads.
    """
    before, call = pair
    if before.runs_at(call.began_ns):
        ended = "had not ended when the Case did" if before.ended_ns is None else f"ended at {ms(before.ended_ns)}"
        yield breach(
            "overlapping",
            f"{call} began at {ms(call.began_ns)}; expected it after the end of the previous one, for delivery "
            f"{before.message.delivery}, which {ended}",
            *(before.message, call.message),
        )
    else:
        yield Exercised(call.message)
