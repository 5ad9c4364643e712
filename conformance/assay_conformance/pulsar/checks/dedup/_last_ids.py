"""The last sequence ids that brokers named: a producer that is there already is answered again, without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Fate, Frame
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, Name
from assay_conformance.pulsar.timeline import Timeline


class LastId(NamedTuple):
    """A PRODUCER_SUCCESS that names one; NO_SEQUENCE_ID where the name has none."""

    name: Name
    id: int
    event: Frame


def last_ids(timeline: Timeline) -> Iterator[LastId]:
    """Of every producer that was not registered yet when its broker got its PRODUCER, in order of the answers."""
    requests, registered = dict[tuple[int, int | None], Frame](), set[tuple[int, int | None]]()
    for frame in timeline.events.frames("PRODUCER", "CLOSE_PRODUCER", "ERROR", "PRODUCER_SUCCESS"):
        producer, asked = (frame.conn, frame.producer_id), (frame.conn, frame.request_id)
        if frame.command == "PRODUCER" and frame.to_receiver:
            if producer not in registered and frame.fate is not Fate.DUPLICATED:
                requests[asked] = frame
            registered.add(producer)
        elif frame.command == "CLOSE_PRODUCER" and frame.at_broker:
            registered.discard(producer)
        elif frame.command == "ERROR" and asked in requests:
            registered.discard((frame.conn, requests.pop(asked).producer_id))
        elif frame.command == "PRODUCER_SUCCESS" and _is_admitted(frame) and asked in requests:
            topic = timeline.local_topic(requests.pop(asked))
            last_id = int(frame.fields.get("last_sequence_id", NO_SEQUENCE_ID))
            yield LastId((topic, str(frame.fields.get("producer_name"))), last_id, frame)


def _is_admitted(success: Frame) -> bool:
    return (
        success.from_sender and success.fate is not Fate.INJECTED and success.fields.get("producer_ready") is not False
    )
