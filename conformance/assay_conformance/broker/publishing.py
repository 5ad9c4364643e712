"""What a SEND goes through.

    SEND -> terminated? -> allowed? -> publish rate -> deduplication -> store -> receipt

What policies do not allow is too large, not encrypted, or delayed too long.

A SEND beyond the publish rate is still taken; then its connection is not read until tokens are there again. A SEND the
store keeps waiting is taken in but not written: between the two, deduplication cannot judge a copy of it.
"""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.broker import replies
from assay_conformance.broker.dedup import Copy, Deduplication, is_early_chunk
from assay_conformance.broker.host import Host
from assay_conformance.broker.pacing import PublishGate
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.store import Append, Entry, Store
from assay_conformance.model.policy import Policies
from assay_conformance.wire import NO_ID, Frame, MetadataError, Payload
from assay_conformance.wire.answers import UNKNOWN_COPY
from assay_conformance.wire.pulsar_pb2 import CommandSend, ServerError

TERMINATED = "Topic was already terminated"
UNWRITTEN = "The message could not be written"


class Publish(Append):
    """A SEND on its way through the store. `recorded` is the id deduplication notes once it is durable."""

    __slots__ = ("_publishing", "_waits", "highest", "producer", "recorded", "written")

    def __init__(
        self,
        publishing: Publishing,
        producer: Producer,
        payload: Payload,
        lowest: int,
        highest: int,
        recorded: int | None,
    ) -> None:
        self.payload = payload
        self.producer_name = producer.name
        self.sequence_id = lowest
        self.highest = highest
        self.recorded = recorded
        self.producer = producer
        self.written = False
        self._waits = False
        self._publishing = publishing

    def done(self, entry: Entry) -> None:
        self.written = True
        self._publishing.written(self, entry)

    def fail(self) -> None:
        # The producer is closed by then, and is answered all the same: as a real broker does.
        last = self.highest if self.sequence_id <= self.highest != NO_ID else self.sequence_id
        fail(self.producer, last, ServerError.PersistenceError, UNWRITTEN)
        self.settle()

    def wait(self) -> None:
        """Count the SEND as waiting: the store has not taken it yet."""
        self._waits = True
        self.producer.in_flight += 1
        self.producer.session.reading.write_begins(len(self.payload.block))

    def settle(self) -> None:
        """Count the SEND as answered."""
        if self._waits:
            self.producer.session.reading.write_ended(len(self.payload.block))
            self.producer.written()


class Publishing:
    """One topic's. `stored` is called with every entry, before its receipt leaves; `dispatch` is called after it."""

    def __init__(
        self, host: Host, store: Store, stored: Callable[[Entry], None], dispatch: Callable[[Entry], None]
    ) -> None:
        self.dedup: Deduplication | None = None
        self.terminated = False
        self._policies = Policies()
        self._host = host
        self._store = store
        self._stored = stored
        self._dispatch = dispatch
        self._own_gate: PublishGate | None = None
        self._shared_gate: PublishGate | None = None
        self._gates: tuple[PublishGate, ...] = ()

    def take_policies(self, policies: Policies) -> None:
        """Take new policies; rates and deduplication are set separately."""
        self._policies = policies

    def last_sequence_id(self, name: str) -> int:
        """Return the last_sequence_id of PRODUCER_SUCCESS; -1 without deduplication."""
        if self.dedup is None:
            return -1
        return self.dedup.last_pushed(name)

    def publish(self, producer: Producer, send: CommandSend, payload: Payload) -> None:
        """Serve one SEND whose checksum is right."""
        lowest = send.sequence_id
        highest = highest_of(send)
        last = last_sequence_id(send)
        if self.terminated:
            fail(producer, last, ServerError.TopicTerminatedError, TERMINATED)
            return
        if (refusal := self._forbidden(send, payload)) is not None:
            fail(producer, last, refusal.error, refusal.message)
            return
        if self._gates and not self._pace(producer, send, payload):
            return
        recorded = self._recorded(send, payload, lowest, last)
        if recorded is not None and not self._is_new(producer, lowest, recorded, highest):
            return
        publish = Publish(self, producer, payload, lowest, highest, recorded)
        self._write(publish)
        if not publish.written:
            publish.wait()

    def _write(self, publish: Publish) -> None:
        self._store.append(publish)

    def _forbidden(self, send: CommandSend, payload: Payload) -> RefusalError | None:
        """Return why policies do not allow this SEND; None where they do."""
        policies = self._policies
        if 0 < (policies.max_message_bytes or 0) < len(payload.block) and not send.is_chunk:
            return RefusalError(ServerError.NotAllowedError, "Exceed maximum message size")
        if policies.encryption_required and not _is_encrypted(payload):
            return RefusalError(ServerError.MetadataError, "Messages must be encrypted")
        limit_ms = 0 if policies.delayed_delivery is None else policies.delayed_delivery.max_delay_ms
        if 0 < limit_ms < _delay_ms(payload):
            text = f"Exceeds max allowed delivery delay of {limit_ms} milliseconds"
            return RefusalError(ServerError.NotAllowedError, text)
        return None

    def _recorded(self, send: CommandSend, payload: Payload, lowest: int, last: int) -> int | None:
        """Return the id that deduplication records of a SEND; None for one that it does not look at."""
        del lowest
        if self.dedup is None or self._is_marker(send) or self._is_early_chunk(send, payload):
            return None
        return last

    def _is_marker(self, send: CommandSend) -> bool:
        return send.marker

    def _is_early_chunk(self, send: CommandSend, payload: Payload) -> bool:
        return send.is_chunk and _starts_chunked(payload)

    def _is_new(self, producer: Producer, lowest: int, last: int, highest: int) -> bool:
        """Ask deduplication, and answer what is not new."""
        copy = self._copy(producer, lowest, last)
        if copy is Copy.DUPLICATE:
            # Answered without the store: it may overtake the receipt of an earlier SEND that still waits there.
            producer.session.send(replies.send_receipt(producer.producer_id, lowest, highest, NO_ID, NO_ID))
        elif copy is Copy.UNKNOWN:
            fail(producer, last, ServerError.PersistenceError, UNKNOWN_COPY)
        return copy is Copy.NEW

    def _copy(self, producer: Producer, lowest: int, last: int) -> Copy:
        assert self.dedup is not None
        return self.dedup.push(producer.name, lowest, last)

    # --- after the write --------------------------------------------------------------------------------------------

    def written(self, publish: Publish, entry: Entry) -> None:
        """Finish a SEND that is durable: first the witness, then its producer, then the subscriptions."""
        self._stored(entry)
        self.answer(publish, entry)
        self._dispatch(entry)

    def answer(self, publish: Publish, entry: Entry) -> None:
        """Send the receipt that says it is stored as `entry`."""
        if publish.recorded is not None and self.dedup is not None:
            self.dedup.persist(publish.producer_name, publish.recorded, entry.index)
        producer = publish.producer
        if not producer.gone:
            ledger, number = self._named(entry)
            receipt = replies.send_receipt(producer.producer_id, publish.sequence_id, publish.highest, ledger, number)
            self._send_receipt(producer, receipt)
        publish.settle()

    def _named(self, entry: Entry) -> tuple[int, int]:
        """Return the position that a receipt names."""
        return entry.ledger, entry.entry

    def _send_receipt(self, producer: Producer, receipt: Frame) -> None:
        producer.session.send(receipt)

    def release(self) -> None:
        """End every hold of the store: what waited is written."""
        self._store.release()

    # --- publish rate -----------------------------------------------------------------------------------------------

    def limit(self, gate: PublishGate | None) -> None:
        """Set the topic's own rate; sends that wait for the one before go on."""
        before, self._own_gate = self._own_gate, gate
        self._gates = _present(gate, self._shared_gate)
        if before is not None:
            before.remove()

    def share(self, gate: PublishGate | None) -> None:
        """Set the rate that this topic shares with all others of its broker."""
        self._shared_gate = gate
        self._gates = _present(self._own_gate, gate)

    def _pace(self, producer: Producer, send: CommandSend, payload: Payload) -> bool:
        """Charge a SEND, which is taken; its connection is not read until every rate has tokens again."""
        for gate in self._gates:
            if not gate.charge(max(1, send.num_messages), len(payload.block)):
                gate.hold(producer.session.reading)
        return True


def last_sequence_id(send: CommandSend) -> int:
    """Return the id that a SEND_ERROR and deduplication go by: the highest id of a batch."""
    highest = highest_of(send)
    return highest if send.sequence_id <= highest != NO_ID else send.sequence_id


def highest_of(send: CommandSend) -> int:
    return send.highest_sequence_id if send.HasField("highest_sequence_id") else NO_ID


def _present(*gates: PublishGate | None) -> tuple[PublishGate, ...]:
    return tuple(gate for gate in gates if gate is not None)


def fail(producer: Producer, sequence_id: int, code: ServerError, text: str) -> None:
    producer.session.send(replies.send_error(producer.producer_id, sequence_id, code, text))


def _delay_ms(payload: Payload) -> int:
    """Return the time from publishing to delivery; 0 where it is not delayed."""
    try:
        metadata = payload.metadata
    except MetadataError:
        return 0
    return metadata.deliver_at_time - metadata.publish_time if metadata.HasField("deliver_at_time") else 0


def _is_encrypted(payload: Payload) -> bool:
    try:
        return bool(payload.metadata.encryption_keys)
    except MetadataError:
        return False


def _starts_chunked(payload: Payload) -> bool:
    try:
        return is_early_chunk(payload.metadata)
    except MetadataError:
        return False
