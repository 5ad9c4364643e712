"""What every exported script begins with: the client's calls in order.

Copied into the script as it stands, so it needs pulsar-client and the standard library alone.
"""

from __future__ import annotations

import hashlib
import queue
import re
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pulsar

SERVICE_URL = sys.argv[1] if len(sys.argv) > 1 else "pulsar://127.0.0.1:6650"


class Call:
    """One call of the client: when it was made, and how and when it ended."""

    def __init__(self, what: str, **details: Any) -> None:
        self.what = what
        self.details = details
        self.called = time.monotonic()
        self.took_s: float | None = None
        self.error = ""
        self.result: Any = None
        self.ended = threading.Event()
        self.size = self.digest = 0

    def end(self, result: Any = None, error: object = "") -> None:
        self.took_s, self.result, self.error = time.monotonic() - self.called, result, str(error)
        ENDED.append(self)
        self.ended.set()

    def is_ok(self) -> bool:
        return self.took_s is not None and not self.error

    def is_open_at(self, moment: float) -> bool:
        return self.called <= moment and (self.took_s is None or self.called + self.took_s > moment)

    def __str__(self) -> str:
        how = "has not ended" if self.took_s is None else f"{self.error or 'ok'} after {self.took_s * 1000:.0f} ms"
        return f"{self.what} {' '.join(map(str, self.details.values()))}: {how}"


class Handle:
    """A client, producer or consumer, and the thread that makes its calls one after the other."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.object: Any = None
        self.opened = threading.Event()
        self.closing = False
        self.jobs: queue.Queue[Callable[[], None]] = queue.Queue()
        self.messages: list[Any] = []
        self.acknowledged: set[int] = set()
        self.refused: set[int] = set()
        self.sought: tuple[int, Any] = (0, None)
        self.sends: list[Call] = []
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        while True:
            self.jobs.get()()


CALLS: list[Call] = []
ENDED: list[Call] = []
SAVED: dict[int, list[Call]] = {}
HANDLES: dict[int, Handle] = {}


def asked(saved: int, what: str, **details: Any) -> Call:
    made = Call(what, **details)
    CALLS.append(made)
    SAVED.setdefault(saved, []).append(made)
    return made


def call(
    handle: int, saved: int, what: str, job: Callable[[], Any], *, others_wait: bool = True, **details: Any
) -> Call:
    """Ask for a call; it is made when those before it on that handle have been, or have begun where none waits."""
    made = asked(saved, what, **details)

    def run() -> None:
        made.called = time.monotonic()
        try:
            made.end(job())
        except Exception as error:
            made.end(error=f"{type(error).__name__}: {error}")

    apart = threading.Thread(target=run, daemon=True)
    HANDLES[handle].jobs.put(run if others_wait else apart.start)
    return made


def opens(handle: int, what: str, make: Callable[[], Any], options: dict[str, Any]) -> None:
    opening = HANDLES[handle] = Handle(options)

    def job() -> None:
        try:
            opening.object = make()
        finally:
            opening.opened.set()

    call(handle, handle, what, job)


def client_of(handle: int) -> Any:
    """When it is there."""
    HANDLES[handle].opened.wait()
    return HANDLES[handle].object


def tokens(*given: str) -> Any:
    """The next one whenever the client asks; the last one stays."""
    left = list(given)
    return pulsar.AuthenticationToken(lambda: left.pop(0) if len(left) > 1 else left[0])


def open_client(handle: int, **options: Any) -> None:
    logger = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    opens(handle, "Client", lambda: pulsar.Client(SERVICE_URL, logger=logger, **options), options)


def open_producer(handle: int, client: int, topic: str, **options: Any) -> None:
    def make() -> Any:
        producer = client_of(client).create_producer(topic, **options)
        # As applications do that log it.
        producer.producer_name()
        return producer

    opens(handle, "create_producer", make, options)


def open_consumer(handle: int, client: int, topics: Any, subscription: str, **options: Any) -> None:
    opens(handle, "subscribe", lambda: client_of(client).subscribe(topics, subscription, **options), options)


def open_pattern(handle: int, client: int, pattern: str, subscription: str, **options: Any) -> None:
    open_consumer(handle, client, re.compile(pattern), subscription, **options)


def payload(handle: int, number: int, size: int) -> bytes:
    """Bytes that say which message they are, as far as there is room, and do not compress."""
    head = struct.pack(">IIQ", 0, handle, number) if size >= 16 else b""
    blocks = (hashlib.sha256(struct.pack(">QQ", number, counter)).digest() for counter in range(size // 32 + 1))
    return (head + b"".join(blocks))[:size]


def number_of(data: bytes) -> int:
    return int(struct.unpack(">IIQ", data[:16])[2]) if len(data) >= 16 else -1


def send(
    saved: int, producer: int, size: int, *, sync: bool = False, deliver_after_ms: int = 0, **options: Any
) -> None:
    handle = HANDLES[producer]
    if deliver_after_ms:
        options["deliver_after"] = timedelta(milliseconds=deliver_after_ms)
    number = len(handle.sends)
    data = payload(producer, number, size)
    told = {"number": number, **({"key": options["partition_key"]} if "partition_key" in options else {})}
    if sync:
        made = call(producer, saved, "send", lambda: handle.object.send(data, **options), **told)
    else:
        made = asked(saved, "send_async", **told)
    made.size, made.digest = size, zlib.crc32(data)
    handle.sends.append(made)
    if sync:
        return

    def done(result: Any, message_id: Any) -> None:
        fine = result == pulsar.Result.Ok
        made.end(message_id if fine else None, "" if fine else result)

    def run() -> None:
        made.called = time.monotonic()
        try:
            handle.object.send_async(data, done, **options)
        except Exception as error:
            made.end(error=f"{type(error).__name__}: {error}")

    handle.jobs.put(run)


def flush(saved: int, producer: int) -> None:
    call(producer, saved, "flush", lambda: HANDLES[producer].object.flush(), others_wait=False)


def close(saved: int, handle: int) -> None:
    HANDLES[handle].closing = True
    call(handle, saved, "close", lambda: HANDLES[handle].object.close())
