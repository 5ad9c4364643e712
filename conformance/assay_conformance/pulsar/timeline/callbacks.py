"""Callbacks of sends that were asked to wait: from when to when, and the calls made inside them and meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from assay_conformance.history.events import OPENS, Events
from assay_conformance.model.event import Completion, Invoke

BESIDE: Final = ("send", "flush", "close", "ack", "nack", "receive", "seek")
"""Verbs whose calls an application makes while a callback runs."""

_WAIT_FOR_ANSWERS: Final = ("flush", "close", "seek")


@dataclass(frozen=True, slots=True, eq=False)
class Callback:
    """`began` is the end of its send; `let` is the command to return, None if there was none."""

    send: Invoke
    began: Completion
    let: Invoke | None

    def runs_at(self, call: Invoke) -> bool:
        """Return whether it had begun, and was not asked to return, when something was called."""
        return self.began.seq < call.seq and (self.let is None or call.seq < self.let.seq)

    def __str__(self) -> str:
        return f"the callback of message {self.send.number} of producer {self.send.handle}"


class CalledIn(NamedTuple):
    """A call that was made inside a callback or, with `beside`, by another thread while it ran."""

    invoke: Invoke
    callback: Callback
    beside: bool


def callbacks(events: Events, ends: Mapping[int, Completion]) -> list[Callback]:
    """Return the callbacks that waited, in the order in which they began; `ends` are of sends, by operation."""
    let = {call.args.get("send"): call for call in events.invokes("end_callback")}
    waiting = (call for call in events.invokes("send") if call.args.get("callback") == "wait" and call.op in ends)
    return sorted((Callback(call, ends[call.op], let.get(call.op)) for call in waiting), key=lambda one: one.began.seq)


def calls_in(events: Events, found: list[Callback]) -> Iterator[CalledIn]:
    """Yield the calls made inside callbacks, and those made meanwhile on the same client."""
    by_send = {one.send.op: one for one in found}
    clients = _clients(events) if found else {}
    for call in events.invokes(*BESIDE) if found else ():
        inside = by_send.get(call.args.get("in_callback", -1))
        running = next((one for one in found if one.runs_at(call)), None)
        if inside is not None:
            yield CalledIn(call, inside, beside=False)
        elif running is not None and clients.get(call.handle) == clients.get(running.send.handle, -1):
            yield CalledIn(call, running, beside=True)


def _clients(events: Events) -> Mapping[int | None, int]:
    """Return the client of each producer and consumer, by handle."""
    return {call.handle: int(call.args["client"]) for call in events.invokes(*OPENS) if "client" in call.args}


def waits_for_answer(call: Invoke, *, acks_are_answered: bool) -> bool:
    """Return whether the call, as an application makes it in a callback, returns only when its broker has answered."""
    if call.verb == "ack":
        return acks_are_answered
    return call.verb in _WAIT_FOR_ANSWERS or call.args.get("mode") == "sync"
