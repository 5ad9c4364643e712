"""The producers of a mixed life: who is open, under which name, and what they send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay_conformance.machines.operations import (
    ADMITTED_MS,
    BESIDES,
    DELAYS_MS,
    KEYS,
    MANY,
    MODES,
    VARIANTS,
    WAITS,
    Act,
    Operation,
)
from assay_conformance.machines.script import MAX_HANDLES, Script, pick
from assay_conformance.model.case import Config, Who

MAX_SENDS = 40


class Written(NamedTuple):
    """How a producer writes, and where; its name is empty where the broker gives one."""

    topic: str
    name: str
    variant: Config


@dataclass(slots=True)
class Producers:
    """The model of the producers of one life."""

    script: Script
    open: dict[int, Written] = field(default_factory=dict)
    waiting: dict[int, Written] = field(default_factory=dict)
    """The producer that waits for its topic."""
    next_ids: dict[int, int] = field(default_factory=dict)
    """Producers -> the sequence id of what they send next."""
    names: int = 0
    sent: int = 0

    # --- coming and going ---

    def open_next(self, act: Act) -> None:
        if len(self.open) < MAX_HANDLES:
            self.names += 1
            terms = self.script.terms
            name = f"p{self.names}" if terms.named else ""
            variant = pick(self.script.around.variants or VARIANTS, act.size) if terms.varied else {}
            written = Written(pick(self.script.around.written, act.number), name, variant)
            self.begin(written, act.who, pick(MODES, act.size) if terms.claims else "")

    def begin(self, written: Written, client: int, mode: str = "") -> None:
        name = {"producer_name": written.name} if written.name else {}
        config = {**name, **written.variant, **({"access_mode": mode} if mode else {})}
        args = {"topic": written.topic, **({"config": config} if config else {})}
        if mode:
            # A producer that is still closing has the topic until what it sent is stored.
            self.script.release()
        if mode != WAITS or not self.open:
            self.open[self._opened(client, args)] = written
        elif not self.waiting:
            self.waiting[self._opened(client, args, wait=False)] = written

    def _opened(self, client: int, args: dict[str, Any], *, wait: bool = True) -> int:
        handle = self.script.open("open_producer", client, args, wait=wait)
        self.next_ids[handle] = 0
        return handle

    def make_way(self) -> None:
        """Close the holder of the topic, so that a waiting producer gets it."""
        if not self.waiting:
            return
        self.script.release()
        for producer in self.open:
            self.script.awaited("close", {"handle": producer})
        self.open.clear()
        self._admit()

    def _admit(self) -> None:
        (producer,) = self.waiting
        self.script.step(Who.WAIT, "ops", ops=[producer], deadline_ms=ADMITTED_MS)
        self.open |= self.waiting
        self.waiting.clear()

    def _open_namesake(self, producer: int, _: Act) -> None:
        """Open another producer of its name. One that has lost the name and has a small queue waits for one message
        after the other."""
        written, room = self.open[producer], len(self.open) < MAX_HANDLES
        if written.name and len(self.script.clients) > 1 and room and not self.script.terms.small_queue:
            self.begin(written, self.script.belongs[producer] + 1)

    def _close(self, producer: int, act: Act) -> None:
        written = self.open.pop(producer)
        again = act.do is Operation.REOPEN_PRODUCER
        if again or self.waiting:
            # Its name, or its topic, is free when what it sent is stored, and the next one waits for that.
            self.script.release()
        self.script.step(Who.AGENT, "close", handle=producer)
        if self.waiting and not self.open:
            self._admit()
        if again:
            self.begin(written, self.script.belongs[producer])
            self.next_ids[max(self.next_ids)] = self.next_ids[producer]

    # --- sending ---

    def act(self, act: Act) -> None:
        if self.open:
            _ACTS[act.do](self, pick(tuple(self.open), act.who), act)

    def send_by_all(self, act: Act) -> None:
        for producer in self.open:
            self._send(producer, act._replace(number=MANY, sync=False))

    def _flush(self, producer: int, _: Act) -> None:
        self.script.step(Who.AGENT, "flush", producer=producer)

    def _send(self, producer: int, act: Act) -> None:
        count = 0 if self.script.around.quiet else min(act.number, MAX_SENDS - self.sent)
        self.sent += count
        if count > 0:
            self.script.step(Who.AGENT, "send", producer=producer, count=count, **self._message(act))
            self.next_ids[producer] += count

    def _send_in_callback(self, producer: int, act: Act) -> None:
        """Send one message, and from its callback others, by any producer; perhaps flush meanwhile.

        None where a full queue blocks: a callback that waits for room may hold up the thread that would make it, in
        Java as in C++.
        """
        if self.script.terms.small_queue or self.script.around.quiet or self.sent + 1 + act.number > MAX_SENDS:
            return
        self.sent += 1 + act.number
        self.script.release()
        message = self._message(act._replace(sync=False))
        sent = self.script.awaited("send", {"producer": producer, "count": 1, "callback": "wait", **message})
        self.next_ids[producer] += 1
        inner = pick(tuple(self.open), act.number)
        self.script.begun("send", {"producer": inner, "count": act.number, "in_callback": sent, **message})
        self.next_ids[inner] += act.number
        if act.size % 2:
            self.script.begun("flush", {"producer": producer})
        self.script.step(Who.AGENT, "end_callback", send=sent)

    def _message(self, act: Act) -> dict[str, Any]:
        """Return what the messages of a send have in common."""
        key, delay_ms = pick(KEYS, act.key), pick(DELAYS_MS, act.delay)
        return {
            "size": pick(self.script.terms.sizes, act.size),
            **({} if key is None else {"key": key}),
            **pick(BESIDES, act.besides),
            **({"deliver_after_ms": delay_ms} if delay_ms and self.script.can("delayed_delivery") else {}),
            **({"mode": "sync"} if act.sync and self.script.can("sync_send") else {}),
        }

    def _send_again(self, producer: int, act: Act) -> None:
        """Send the last ids again, and two new ones after them. Receipts for chunks of one id twice do not show which
        of both they are for."""
        terms = self.script.terms
        if not terms.deduplication or terms.partitions or terms.chunking:
            return
        first = max(0, self.next_ids[producer] - act.number)
        ids = range(first, min(self.next_ids[producer] + 2, first + MAX_SENDS - self.sent))
        if ids:
            self.sent += len(ids)
            self.next_ids[producer] = ids.stop
            messages = [{"sequence_id": id, "size": pick(terms.sizes, act.size)} for id in ids]
            self.script.step(Who.AGENT, "send", producer=producer, messages=messages)


_ACTS: Mapping[Operation, Callable[[Producers, int, Act], None]] = {
    Operation.SEND: Producers._send,
    Operation.SEND_AGAIN: Producers._send_again,
    Operation.SEND_IN_CALLBACK: Producers._send_in_callback,
    Operation.FLUSH: Producers._flush,
    Operation.OPEN_NAMESAKE: Producers._open_namesake,
    Operation.CLOSE_PRODUCER: Producers._close,
    Operation.REOPEN_PRODUCER: Producers._close,
}
