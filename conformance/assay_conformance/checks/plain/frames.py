"""The wire and the log of a plain stretch: whether each frame, and each entry, is the one that was to come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from assay_conformance.checks.plain.standing import Standing
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import NO_ENTRY, Event, Fate, Frame, Meta, Sides, Stored
from assay_conformance.pulsar.checks.ack.flush_sends_one_command import MAX_IDS

PROMPT_NS: Final = 20 * MS
"""Within which whatever needs no timer has to follow: the smallest of the tolerances for what may be late."""

_BOTH, _PASSED = Sides.BOTH, Fate.PASSED
_TO_BROKER: Final = Direction.TO_BROKER


class Frames:
    """`beside` gets what goes by beside the messages, and the ACKs, each of which names many."""

    def __init__(self, standing: Standing, silence_ns: int, beside: list[Event]) -> None:
        self._standing = standing
        self._silence_ns = silence_ns
        self._beside = beside
        either = {"PING": self._goes_by, "PONG": self._goes_by}
        self._up: dict[str, Callable[[Frame], bool]] = {
            "SEND": self._send,
            "ACK": self._ack,
            "FLOW": self._flow,
            **either,
        }
        self._down: dict[str, Callable[[Frame], bool]] = {
            "SEND_RECEIPT": self._receipt,
            "MESSAGE": self._message,
            **either,
        }

    def see(self, event: Frame) -> bool:
        handler = (self._up if event.dir is _TO_BROKER else self._down).get(event.command)
        return handler is not None and event.sides is _BOTH and event.fate is _PASSED and handler(event)

    def _goes_by(self, event: Frame) -> bool:
        self._beside.append(event)
        return True

    def _hears(self, event: Frame) -> bool:
        """A connection's client was not left alone for long before this."""
        heard_ns, conn = self._standing.heard_ns, event.conn
        before_ns, heard_ns[conn] = heard_ns.get(conn, event.t_ns), event.t_ns
        return event.t_ns - before_ns <= self._silence_ns

    def _send(self, event: Frame) -> bool:
        writing = self._standing.writings.get((event.conn, event.producer_id or 0))
        meta, members = event.meta, event.members
        if writing is None or meta is None or len(members) != 1 or event.sequence_id is None:
            return False
        member, identity, producer = members[0], members[0].identity, writing.producer
        # The first on a connection is judged by how the producer came to be there.
        if identity is None or producer is None or not producer.asked:
            return False
        message = producer.asked.popleft()
        message.unit, message.sequence_id = event.unit, event.sequence_id
        message.meta, message.members = meta, members
        in_turn = event.sequence_id == writing.last_id + 1
        writing.last_id = producer.last_id = event.sequence_id
        writing.waiting.append(message)
        producer.log.to_store.append(message)
        self._standing.under_way += 1
        return (
            in_turn
            and writing.name == meta.producer_name
            and message.number == identity.number
            and message.handle == identity.handle
            and identity.case == self._standing.case_number
            and member.digest == message.digest
            and member.size == message.size
            and member.sequence_id in (None, event.sequence_id)
            and meta.sequence_id == event.sequence_id
            and event.intact is not False
            and event.unit is not None
            and event.size <= self._standing.largest
            and (event.num_messages or 1) == 1
            and not event.highest_sequence_id
            and not event.fields
            and len(writing.waiting) <= producer.limit
            and _is_plain(meta)
        )

    def _receipt(self, event: Frame) -> bool:
        writing = self._standing.writings.get((event.conn, event.producer_id or 0))
        if writing is None or not writing.waiting or len(event.ids) != 1:
            return False
        if writing.waiting[0].sequence_id != event.sequence_id:
            return False
        message, position = writing.waiting.popleft(), event.ids[0].position
        message.receipted = True
        if message.position is None:
            message.position = position
        return (
            message.position == position
            and event.highest_sequence_id in (None, 0, NO_ENTRY, event.sequence_id)
            and not event.fields
            and self._hears(event)
        )

    def _message(self, event: Frame) -> bool:
        reading = self._standing.readings.get((event.conn, event.consumer_id or 0))
        if reading is None or reading.consumer is None or not reading.consumer.log.to_dispatch:
            return False
        message = reading.consumer.log.to_dispatch.popleft()
        reading.consumer.handed.append(message)
        if reading.fields is None:
            reading.fields = event.fields
        # The first on a connection is judged by what was there when it was subscribed.
        is_next = (
            0 < reading.dispatched < reading.granted
            and len(event.ids) == 1
            and event.ids[0].position == message.position
            and event.unit == message.unit
            and event.members == message.members
            and event.meta == message.meta
            and event.intact is not False
            and not event.redelivery_count
            and not event.ack_sets
            and event.fields == reading.fields
            and event.t_ns - message.stored_ns <= PROMPT_NS
            and self._hears(event)
        )
        # What is not is counted where nothing is plain, and so with FLOW.
        reading.dispatched += is_next
        return is_next

    def _ack(self, event: Frame) -> bool:
        """Whatever a call has ended of by then leaves with it, and not sooner than a timer or a full group."""
        reading = self._standing.readings.get((event.conn, event.consumer_id or 0))
        consumer = None if reading is None else reading.consumer
        self._beside.append(event)
        if reading is None or consumer is None or event.ack_type == "Cumulative" or event.ack_sets:
            return False
        if event.fields or event.request_id is not None or (len(event.ids) > 1 and event.conn in self._standing.one_id):
            return False
        for id in event.ids:
            message = consumer.acking.pop(id.position, None)
            if message is None or event.t_ns - message.acked_ns > consumer.group_ns + PROMPT_NS:
                return False
            if message.called:
                consumer.called -= 1
            else:
                self._standing.under_way -= 1
        before, reading.acked_ns = reading.acked_ns, event.t_ns
        full_ns, consumer.full_ns = consumer.full_ns, None
        full = len(event.ids) >= consumer.group_max
        together = not consumer.called or len(event.ids) >= MAX_IDS
        gathered = full or before is None or event.t_ns - before >= consumer.group_ns // 2
        return together and gathered and (full_ns is None or event.t_ns - full_ns <= PROMPT_NS)

    def _flow(self, event: Frame) -> bool:
        reading, permits = self._standing.readings.get((event.conn, event.consumer_id or 0)), event.permits or 0
        if reading is None or permits < max(1, reading.queue // 2):
            return False
        if reading.granted + permits - reading.dispatched > reading.queue:
            return False
        if reading.ripe_ns is not None and event.t_ns - reading.ripe_ns > PROMPT_NS:
            return False
        reading.granted += permits
        reading.taken -= permits
        reading.ripe_ns = event.t_ns if reading.taken >= reading.refill else None
        return True

    def stored(self, event: Stored) -> bool:
        log = self._standing.logs.get(event.topic)
        if log is None or not log.to_store:
            return False
        message, position, last = log.to_store.popleft(), event.id.position, log.last
        if message.position is None:
            message.position = position
        message.stored_ns = event.t_ns
        log.last = position
        if log.consumer is None:
            self._standing.under_way -= 1
        else:
            log.to_dispatch.append(message)
        in_turn = last is None or position == (last[0], last[1] + 1)
        return (
            in_turn
            and message.position == position
            and message.unit == event.unit
            and not event.late
            and message.members == event.members
            and message.meta == event.described
        )


def _is_plain(meta: Meta) -> bool:
    return (
        meta.batch is None
        and meta.chunk_id is None
        and meta.compression == "NONE"
        and meta.unpacked_bytes is None
        and meta.key is None
        and meta.ordering_key is None
        and meta.uuid is None
        and meta.deliver_at_ms is None
        and not meta.properties
        and not meta.letter
    )
