"""A producer's calls."""

from __future__ import annotations

import random
import threading
from typing import Any

import pulsar

from assay_reports.export.runtime.calls import HANDLES, Call, Handle


def new_send(producer: Handle, what: str, size: int, options: dict[str, Any]) -> Call:
    """Return a send of bytes that do not compress.

    Where there is room, they begin with the numbers of producer and message.
    """
    whose, number = HANDLES.index(producer), len(producer.sends)
    key = {"key": options["partition_key"]} if "partition_key" in options else {}
    made = Call(producer, what, number=number, **key)
    head = whose.to_bytes(8, "big") + number.to_bytes(8, "big") if size >= 16 else b""
    made.data = head + random.Random(f"{whose} {number}").randbytes(size - len(head))
    producer.sends.append(made)
    return made


def send_async(producer: Handle, size: int, **options: Any) -> Call:
    made = new_send(producer, "send_async", size, options)

    def done(result: Any, message_id: Any) -> None:
        fine = result == pulsar.Result.Ok
        made.end(message_id if fine else None, "" if fine else result)

    producer.thread.submit(made.make, lambda: producer.object.send_async(made.data, done, **options), ends=False)
    return made


def send(producer: Handle, size: int, **options: Any) -> Call:
    made = new_send(producer, "send", size, options)
    producer.thread.submit(made.make, lambda: producer.object.send(made.data, **options))
    return made


def flush(producer: Handle) -> Call:
    """Flush; later calls do not wait for it."""
    made = Call(producer, "flush")
    apart = threading.Thread(target=made.make, args=(lambda: producer.object.flush(),), daemon=True)
    producer.thread.submit(apart.start)
    return made
