"""What one history of a generated Case covered: steps, faults, reconnects, and in which state the client met a fault.

A state is what the client was in the middle of, as the witnesses show it; the same fault in another state is another
test. Exploration counts these pairs and goes where there are few.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from assay_conformance.model.case import Case
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    Completion,
    Event,
    Fired,
    Frame,
    Invoke,
    Meta,
    Opened,
    Outcome,
    Received,
    Stepped,
)
from assay_conformance.model.fault import Fault, OnFrame

Pair = tuple[str, str]
"""(state, what went wrong in it)."""

IDLE = "idle"
CONNECTING, SENDING, RECEIVING, SETTLING, REQUESTING = "connecting", "sending", "receiving", "settling", "requesting"

_OPENS = frozenset({"open_producer", "open_consumer", "open_table_view"})
_BACK = frozenset({"PRODUCER_SUCCESS", "SUCCESS"})
_DOING = {"send": SENDING, "burst": SENDING, "flush": SENDING, "receive": RECEIVING, "ack": SETTLING, "nack": SETTLING}
"""By verb, what a client is in the middle of while it is under way; every other verb asks the broker something."""


class Coverage(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """`steps` were carried out, waits not counted. `touched`: a fault acted on a frame. `reconnected`: a client that
    had lost a connection opened another one. `batched`, `chunked`: it sent a batch, or a message in chunks. `pairs`
    without repetition. `opened`: verbs of openings that succeeded, `failed`: of those that did not, each with its
    error and the client's own text."""

    wall_ms: int = 0
    steps: int = 0
    fired: tuple[int, ...] = ()
    touched: bool = False
    reconnected: bool = False
    batched: bool = False
    chunked: bool = False
    pairs: tuple[Pair, ...] = ()
    opened: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


def coverage(events: Iterable[Event], case: Case) -> Coverage:
    """Return what an attempt covered, in one pass over its events."""
    sight = _Sight(case)
    for event in events:
        sight.see(event)
    return Coverage(
        wall_ms=sight.wall_ms,
        steps=sight.steps,
        fired=tuple(sorted(sight.fired)),
        touched=sight.touched,
        reconnected=sight.reconnected,
        batched=sight.batched,
        chunked=sight.chunked,
        pairs=tuple(sorted(sight.pairs)),
        opened=tuple(sight.opened),
        failed=tuple(sight.failed),
    )


def label(fault: Fault) -> str:
    """Return a fault's label, as `drop SEND_RECEIPT`: the action and the frame it waits for."""
    action = str(fault.action.__struct_config__.tag)
    how = getattr(fault.action, "how", None)
    where = fault.trigger.command if isinstance(fault.trigger, OnFrame) else ""
    return " ".join(word for word in (action, how.value if how else "", where) if word)


class _Sight:
    def __init__(self, case: Case) -> None:
        self._case = case
        self._under_way: dict[int, str] = {}
        self._opening: dict[int, str] = {}
        self._held = 0
        self._lost = False
        self._clients: set[int | None] = set()
        self._leaving = False
        """A client is being closed, or its process has ended: that its connections end is no loss, and the client
        that opens the next one has lost none."""
        self.wall_ms = 0
        self.steps = 0
        self.fired: set[int] = set()
        self.touched = False
        self.reconnected = False
        self.batched = False
        self.chunked = False
        self.pairs: set[Pair] = set()
        self.opened: list[str] = []
        self.failed: list[tuple[str, str]] = []

    def see(self, event: Event) -> None:
        self.wall_ms = max(self.wall_ms, event.t_ns // 1_000_000)
        match event:
            case Stepped(skipped=""):
                self.steps += self._case.steps[event.step].who != "wait"
            case Invoke():
                self._under_way[event.op] = _DOING.get(event.verb, REQUESTING)
                self._held -= event.verb in ("ack", "nack")
                self._note_client(event)
            case Completion():
                self._under_way.pop(event.op, None)
                self._note_opening(event)
            case Received():
                self._held += 1
            case AgentEnded():
                self._leaving, self._lost = True, False
            case Closed():
                self._lost |= not self._leaving
            case Opened():
                self.reconnected |= self._lost
                self._leaving = False
            case Frame() if event.command in _BACK:
                self._lost = False
            case Frame(command="SEND", meta=Meta() as meta):
                self.batched |= meta.batch is not None
                self.chunked |= meta.chunk_id is not None
            case Fired():
                self._fire(event)

    def _note_client(self, event: Invoke) -> None:
        if event.verb == "open_client":
            self._clients.add(event.handle)
        self._leaving |= event.verb == "close" and event.handle in self._clients
        if event.verb in _OPENS:
            self._opening[event.op] = event.verb

    def _note_opening(self, end: Completion) -> None:
        verb = self._opening.pop(end.op, None)
        if verb is not None and end.outcome is Outcome.OK:
            self.opened.append(verb)
        elif verb is not None:
            self.failed.append((verb, f"{end.error or end.outcome}: {end.text}" if end.text else str(end.error)))

    def _fire(self, event: Fired) -> None:
        self.fired.add(event.fault)
        self.touched |= bool(event.frames)
        self.pairs.add((self._state(), label(self._case.faults[event.fault])))

    def _state(self) -> str:
        doing = set(self._under_way.values())
        if self._lost:
            doing.add(CONNECTING)
        if self._held > 0:
            doing.add("holding")
        return "+".join(sorted(doing)) or IDLE
