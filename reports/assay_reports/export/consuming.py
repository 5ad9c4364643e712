"""What every exported script goes on with: a consumer's calls.

Copied into the script behind `calls.py`, as it stands.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import pulsar

from assay_reports.export.calls import HANDLES, Handle, call, number_of

ARRIVING: dict[Handle, queue.Queue[Any]] = {}
"""What consumers without a queue wait for, over calls: they cannot be asked with a time-out."""


def take(handle: Handle, timeout_ms: int) -> Any:
    if handle.options.get("receiver_queue_size") != 0:
        return handle.object.receive(timeout_ms)
    if handle not in ARRIVING:
        box = ARRIVING[handle] = queue.Queue[Any]()
        threading.Thread(target=lambda: box.put(handle.object.receive()), daemon=True).start()
    try:
        message = ARRIVING[handle].get(timeout=timeout_ms / 1000)
    except queue.Empty:
        raise pulsar.Timeout from None
    del ARRIVING[handle]
    return message


def receive(saved: int, consumer: int, count: int, timeout_ms: int) -> None:
    """Takes what comes until there are so many, or the time is up."""
    handle = HANDLES[consumer]

    def job() -> int:
        until = time.monotonic() + timeout_ms / 1000
        for got in range(count):
            left_ms = max(1, round((until - time.monotonic()) * 1000))
            try:
                handle.messages.append(take(handle, left_ms))
            except pulsar.Timeout:
                return got
        return count

    call(consumer, saved, "receive", job, count=count)


def settle(what: str, saved: int, consumer: int, messages: Any, numbers: Any, cumulative: bool = False) -> None:
    handle = HANDLES[consumer]

    def job() -> None:
        had = handle.messages
        if messages is not None:
            chosen = [at - 1 for at in messages if at <= len(had)]
        elif numbers is not None:
            latest = {number_of(one.data()): at for at, one in enumerate(had)}
            chosen = [latest[number] for number in numbers if number in latest]
        else:
            chosen = [at for at in range(len(had)) if at not in handle.acknowledged]
        for at in chosen:
            getattr(handle.object, what)(had[at])
        (handle.refused if what == "negative_acknowledge" else handle.acknowledged).update(chosen)

    name = "acknowledge_cumulative" if cumulative else what
    what = name
    call(consumer, saved, name, job)


def seek(saved: int, consumer: int, delivery: int) -> None:
    handle = HANDLES[consumer]

    def target() -> Any:
        id = handle.messages[delivery - 1].message_id()
        return id, [id.ledger_id(), id.entry_id()]

    seek_to(saved, consumer, target)


def seek_time(saved: int, consumer: int, publish_time_ms: int) -> None:
    seek_to(saved, consumer, lambda: (publish_time_ms, publish_time_ms))


def seek_to(saved: int, consumer: int, target: Callable[[], Any]) -> None:
    handle = HANDLES[consumer]

    def job() -> None:
        place, told = target()
        handle.object.seek(place)
        handle.sought = len(handle.messages), told

    call(consumer, saved, "seek", job)
