"""What every exported script begins with: the client's calls in order, and what the broker saw of them.

Copied into the script as it stands, so it needs pulsar-client and the standard library alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.request import Request, urlopen

import pulsar

SERVICE_URL = sys.argv[1] if len(sys.argv) > 1 else "pulsar://127.0.0.1:6650"
ADMIN_URL = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8080"
QUIET_S = 1.0
GIVEN_UP = 100


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

    def end(self, result: Any = None, error: object = "") -> None:
        self.took_s, self.result, self.error = time.monotonic() - self.called, result, str(error)
        ENDED.append(self)
        self.ended.set()

    def __str__(self) -> str:
        how = "has not ended" if self.took_s is None else f"{self.error or 'ok'} after {self.took_s * 1000:.0f} ms"
        return f"{self.what} {' '.join(map(str, self.details.values()))}: {how}"


class Handle:
    """A client, producer or consumer, and the thread that makes its calls one after the other."""

    def __init__(self) -> None:
        self.object: Any = None
        self.opened = threading.Event()
        self.jobs: queue.Queue[Callable[[], None]] = queue.Queue()
        self.messages: list[Any] = []
        self.sent = 0
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        while True:
            self.jobs.get()()


CALLS: list[Call] = []
ENDED: list[Call] = []
SAVED: dict[int, list[Call]] = {}
HANDLES: dict[int, Handle] = {}
FAULTS: dict[int, int] = {}


def call(handle: int, saved: int, what: str, job: Callable[[], Any], **details: Any) -> None:
    """Ask for a call; it is made when those before it on that handle have been."""
    made = Call(what, **details)
    CALLS.append(made)
    SAVED.setdefault(saved, []).append(made)

    def run() -> None:
        made.called = time.monotonic()
        try:
            made.end(job())
        except Exception as error:
            made.end(error=f"{type(error).__name__}: {error}")

    HANDLES[handle].jobs.put(run)


def opens(handle: int, what: str, make: Callable[[], Any]) -> None:
    opening = HANDLES[handle] = Handle()

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


def open_client(handle: int, **options: Any) -> None:
    logger = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    opens(handle, "Client", lambda: pulsar.Client(SERVICE_URL, logger=logger, **options))


def open_producer(handle: int, client: int, topic: str, **options: Any) -> None:
    opens(handle, "create_producer", lambda: client_of(client).create_producer(topic, **options))


def open_consumer(handle: int, client: int, topics: Any, subscription: str, **options: Any) -> None:
    opens(handle, "subscribe", lambda: client_of(client).subscribe(topics, subscription, **options))


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
    number, handle.sent = handle.sent, handle.sent + 1
    data = payload(producer, number, size)
    if sync:
        call(producer, saved, "send", lambda: handle.object.send(data, **options), number=number)
        return
    made = Call("send_async", number=number)
    CALLS.append(made)
    SAVED.setdefault(saved, []).append(made)

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
    call(producer, saved, "flush", lambda: HANDLES[producer].object.flush())


def close(saved: int, handle: int) -> None:
    call(handle, saved, "close", lambda: HANDLES[handle].object.close())


def receive(saved: int, consumer: int, count: int, timeout_ms: int) -> None:
    """Takes what comes until there are so many, or the time is up."""
    handle = HANDLES[consumer]

    def job() -> int:
        until = time.monotonic() + timeout_ms / 1000
        for got in range(count):
            left_ms = max(1, round((until - time.monotonic()) * 1000))
            try:
                handle.messages.append(handle.object.receive(left_ms))
            except pulsar.Timeout:
                return got
        return count

    call(consumer, saved, "receive", job, count=count)


def settle(what: str, saved: int, consumer: int, messages: Any, numbers: Any, cumulative: bool = False) -> None:
    handle = HANDLES[consumer]

    def job() -> None:
        chosen = [handle.messages[at - 1] for at in messages or () if at <= len(handle.messages)]
        chosen += [one for wanted in numbers or () for one in handle.messages if number_of(one.data()) == wanted]
        if messages is None and numbers is None:
            chosen = list(handle.messages)
        for message in chosen:
            getattr(handle.object, what)(message)

    name = "acknowledge_cumulative" if cumulative else what
    what = name
    call(consumer, saved, name, job)


def seek(saved: int, consumer: int, delivery: int) -> None:
    handle = HANDLES[consumer]
    call(consumer, saved, "seek", lambda: handle.object.seek(handle.messages[delivery - 1].message_id()))


# --- the broker ---


def ask(path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{ADMIN_URL}/assay/{path}", data), timeout=10) as answer:
        told = answer.read()
    return json.loads(told) if told else None


def broker(verb: str, **args: Any) -> None:
    """One of the broker's own steps."""
    ask("steps", {"verb": verb, "args": args})


def fault(number: int, what: Any) -> None:
    """A fault from now on."""
    FAULTS[number] = ask("faults", what)


def frames(command: str, direction: str = "c2b") -> list[Any]:
    """The frames of a command that have crossed, oldest first."""
    return [
        event
        for event in ask("events")
        if event["kind"] == "frame" and event["command"] == command and event["dir"] == direction
    ]


# --- waits ---


def wait(*saved: int, timeout_s: float) -> None:
    """Until these calls have ended, all so far when none is named."""
    until = time.monotonic() + timeout_s
    for made in [one for number in saved or SAVED for one in SAVED.get(number, [])]:
        made.ended.wait(max(0.0, until - time.monotonic()))


def until(holds: Callable[[], bool], timeout_s: float) -> None:
    over = time.monotonic() + timeout_s
    while not holds() and time.monotonic() < over:
        time.sleep(0.005)


def matches(event: Any, where: Any) -> bool:
    return all({**event.get("fields", {}), **event}.get(key) == value for key, value in where.items())


def wait_frame(command: str, direction: str, count: int, where: Any, timeout_s: float) -> None:
    until(lambda: sum(matches(one, where) for one in frames(command, direction)) >= count, timeout_s)


def wait_fired(number: int, timeout_s: float) -> None:
    index = FAULTS[number]
    until(lambda: any(one["kind"] == "fired" and one["fault"] == index for one in ask("events")), timeout_s)


def wait_received(consumer: int, count: int, timeout_s: float) -> None:
    until(lambda: len(HANDLES[consumer].messages) >= count, timeout_s)


def pause(ms: int) -> None:
    time.sleep(ms / 1000)


# --- the end ---


def main(expected: str, schedule: Callable[[], None], deviations: list[Callable[[], str]]) -> None:
    """In a process of its own, so that a client that takes it down is told of as well.

    Exit code 0: as expected; 1: the deviation shows; 2: no broker, or no client, to try it with.
    """
    if os.environ.get("EXPORTED_SCRIPT") != "inside":
        inside = subprocess.run([sys.executable, *sys.argv], env={**os.environ, "EXPORTED_SCRIPT": "inside"})
        if inside.returncode < 0:
            print(f"expected  {expected}\nsaw       the process was killed by signal {-inside.returncode}")
        sys.exit(1 if inside.returncode < 0 else inside.returncode)
    try:
        ask("events")
    except OSError as error:
        print(f"no broker answers at {ADMIN_URL}: {error}")
        sys.exit(2)
    schedule()
    time.sleep(QUIET_S)
    print(f"pulsar-client {pulsar.__version__}")
    for made in CALLS[:GIVEN_UP]:
        print(f"  {made}")
    saw = [told for deviation in deviations if (told := deviation())]
    print(f"expected  {expected}")
    for told in saw or ["nothing else"]:
        print(f"saw       {told}", flush=True)
    # Without the library's own end: it may wait for ever for what was left undone.
    os._exit(1 if saw else 0)
