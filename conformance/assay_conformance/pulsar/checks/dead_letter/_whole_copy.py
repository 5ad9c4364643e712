"""What a letter carries: the whole message, and where it comes from."""

from __future__ import annotations

from assay_conformance.model.event import Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Breach, Exercised, Says, Timeline, breach, ms
from assay_conformance.pulsar.timeline.letters import Letter
from assay_conformance.pulsar.timeline.originals import REAL_TOPIC


def judge_whole_copy(timeline: Timeline, letter: Letter) -> Says:
    """Judge a letter against its original as it is stored; of one from inside a batch, the payload alone. A client may
    add properties of its own."""
    says = letter.says
    yield Exercised(letter.frame)
    if letter.origin is None:
        yield breach(
            "no-origin",
            f"a {letter.kind} left at {ms(letter.frame.t_ns)}; expected properties that name the message of "
            f"{letter.address.topic} that it copies; it has the properties {', '.join(sorted(says)) or 'none'}",
            letter.frame,
        )
        return
    original = timeline.letters.message_of(letter.origin)
    real = says.get(REAL_TOPIC, "")
    if base_topic(timeline.view.tracker.local_topic(real)) != letter.address.topic:
        yield lacks(letter, original, "other-topic", f"{REAL_TOPIC} {letter.address.full}", real or "none")
    if original is not None:
        yield from _judge_content(letter, original)


def _judge_content(letter: Letter, original: Stored) -> Says:
    sent, meta = original.meta, letter.frame.meta
    contents = {member.payload for member in original.members}
    if original.members and not {member.payload for member in letter.members} <= contents:
        got = f"{letter.members[0].size} bytes" if letter.members else "something that cannot be read"
        yield lacks(letter, original, "payload-changed", "the payload of its original", got)
    if sent.batch is not None or meta is None:
        return
    if letter.in_batch is not None:
        if letter.in_batch.key != sent.key:
            yield lacks(letter, original, "keys-changed", f"key {sent.key!r}", f"{letter.in_batch.key!r}")
    elif (meta.key, meta.ordering_key) != (sent.key, sent.ordering_key):
        keys = f"key {sent.key!r} and ordering key {sent.ordering_key!r}"
        yield lacks(letter, original, "keys-changed", keys, f"{meta.key!r} and {meta.ordering_key!r}")
    carried = meta if letter.in_batch is None else letter.in_batch
    is_older = meta.own_properties != sent.own_properties
    if is_older or not set(sent.property_digests) <= set(carried.property_digests):
        yield lacks(letter, original, "properties-changed", "the properties of its original", "others, or none")


def lacks(letter: Letter, original: Stored | None, code: str, expected: str, came: str) -> Breach:
    """Return the breach of a letter that does not carry what it should."""
    said = f"{letter} was sent at {ms(letter.frame.t_ns)}; expected {expected}; it has {came}"
    return breach(code, said, original, letter.frame)
