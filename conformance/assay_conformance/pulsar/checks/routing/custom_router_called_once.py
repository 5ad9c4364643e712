from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.model.event import AgentEnded, Note
from assay_conformance.model.hooks import ROUTER
from assay_conformance.pulsar.timeline import Exercised, Routed, Says, Timeline, UnknownError, breach, check, ms


@check("routing.custom-router-called-once", of=lambda timeline: timeline.routed_by_application.values())
def custom_router_called_once(timeline: Timeline, message: Routed) -> Says:
    """routing.custom-router-called-once: the application's router is called once for a message, with the number of
    partitions, and its answer is where the message goes."""
    if timeline.events.of(AgentEnded):
        raise UnknownError("an agent ended, and calls of its routers may not have been reported")
    timeline.check_numbered(message.producer.handle)
    calls = timeline.notes_of(message.producer.handle, message.number, ROUTER)
    wrong = _wrong(message, calls)
    if wrong is None:
        yield Exercised(message.frame)
        return
    code, what = wrong
    yield breach(
        code,
        f"{message} went to partition {message.partition} of {message.producer.partitions} at "
        f"{ms(message.frame.t_ns)}; its router {what}",
        *calls[:2],
        message.frame,
    )


def _wrong(message: Routed, calls: Sequence[Note]) -> tuple[str, str] | None:
    """Return a code, and what the calls of the application's router contradict."""
    if len(calls) != 1:
        return ("asked-again", f"was called {len(calls)} times") if calls else ("not-asked", "was not called")
    partitions, answer = calls[0].values["partitions"], calls[0].values["answer"]
    if partitions != message.producer.partitions:
        return "wrong-count", f"was given {partitions} partitions"
    return None if answer == message.partition else ("not-heard", f"had answered {answer}")
