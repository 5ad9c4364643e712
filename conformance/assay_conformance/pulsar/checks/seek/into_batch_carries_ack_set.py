from __future__ import annotations

from assay_conformance.checks.consumption import bit_of
from assay_conformance.model.event import MessageId
from assay_conformance.pulsar.checks.seek._seeking import Sought, seeks, target_of
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@check("seek.into-batch-carries-ack-set", of=seeks)
def into_batch_carries_ack_set(timeline: Timeline, sought: Sought) -> Says:
    """seek.into-batch-carries-ack-set: a SEEK into a batch has an ack_set with the messages to be delivered: those from
    its target on. Judged once the wire shows the size of the batch."""
    command, named = sought.command, sought.invoke.args.get("message_id")
    if command is None or named is None or sought.beside:
        return
    id = MessageId(*named)
    # Not every client gives the size of the batch in its message ids.
    stored = (one for one in timeline.stored_on(sought.topic) if one.seq < command.seq)
    size = next((one.meta.messages for one in stored if one.id.position == id.position), id.batch_size)
    if id.batch_index < 0 or size < 2:
        return
    words = command.ack_sets[0] if command.ack_sets else ()
    yield Exercised(command)
    if not all(bit_of(words, index) is (index >= id.batch_index) for index in range(size)):
        yield breach(
            "wrong-bits",
            f"consumer {sought.consumer.handle} sought {target_of(sought.invoke)}, in a batch of {size}; expected an "
            f"ack_set with the bits from {id.batch_index} on; its SEEK at {ms(command.t_ns)} has "
            + ("none" if not words else f"the ack_set {list(words)}"),
            *(sought.invoke, command),
        )
