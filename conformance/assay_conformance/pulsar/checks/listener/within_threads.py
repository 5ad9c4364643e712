from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.pulsar.timeline import Exercised, HandlerCall, Says, Timeline, breach, check, client_of, ms


class _Beside(NamedTuple):
    """A call, those of its client that ran when it began, and how many threads the client has for them."""

    call: HandlerCall
    running: list[HandlerCall]
    threads: int


def _beside(timeline: Timeline) -> Iterator[_Beside]:
    for client, calls in _by_client(timeline).items():
        threads = _threads(timeline, client)
        running: list[HandlerCall] = []
        for call in calls if threads else ():
            running = [one for one in running if one.runs_at(call.began_ns)]
            yield _Beside(call, running, threads)
            running = [*running, call]


def _by_client(timeline: Timeline) -> dict[int | None, list[HandlerCall]]:
    found: dict[int | None, list[HandlerCall]] = {}
    for call in timeline.handler_calls:
        found.setdefault(client_of(call.consumer), []).append(call)
    return found


def _threads(timeline: Timeline, client: int | None) -> int:
    """Return how many threads the client has; 0 where it is not known."""
    opening = next((call for call in timeline.events.invokes("open_client") if call.handle == client), None)
    own = opening.args.get("config", {}) if opening is not None else {}
    view = timeline.view
    return int(view.facts.in_force(view.case.config, "client", "listener_threads", own) or 0)


@check("listener.within-threads", of=_beside)
def within_threads(timeline: Timeline, beside: _Beside) -> Says:
    """listener.within-threads: no more handler calls of a client run at once than it has threads for them."""
    del timeline
    call, running, threads = beside
    if len(running) < threads:
        yield Exercised(call.message)
        return
    yield breach(
        "too-many",
        f"{call} began at {ms(call.began_ns)}, while {len(running)} other calls of client {client_of(call.consumer)} "
        f"ran; expected {threads} at once at most",
        *(one.message for one in running),
        call.message,
    )
