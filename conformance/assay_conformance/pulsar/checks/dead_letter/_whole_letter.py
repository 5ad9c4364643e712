"""What a letter carries: the whole message, and where it comes from."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.checks.base import ms
from assay_conformance.model.event import Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dead_letter._sending import REAL_TOPIC, Kind, Letter, LetterCheck


class WholeLetter(LetterCheck):
    """Judged against the original as it is stored; of one from inside a batch, the payload alone. Letters in batches
    are not judged."""

    kind: ClassVar[Kind]

    def posted(self, letter: Letter) -> None:
        meta = letter.frame.meta
        if letter.kind is not self.kind or meta is None or meta.batch is not None:
            return
        self.exercise(letter.frame)
        if letter.origin is None:
            told = ", ".join(sorted(letter.told)) or "nothing of the kind"
            self.breach(
                "no-origin",
                f"a {letter.kind} left at {ms(letter.frame.t_ns)}; it should say which message of "
                f"{letter.address.topic} it is a copy of, and tells {told}",
                letter.frame,
            )
            return
        original = self.message_of(letter.origin)
        real = letter.told.get(REAL_TOPIC, "")
        if base_topic(self.tracker.local_topic(real)) != letter.address.topic:
            self._wrong(letter, original, "other-topic", f"{REAL_TOPIC} {letter.address.full}", real or "none")
        if original is not None:
            self._content(letter, original)

    def _content(self, letter: Letter, original: Stored) -> None:
        sent, frame = original.meta, letter.frame
        assert frame.meta is not None
        contents = {member.payload for member in original.members}
        if original.members and not {member.payload for member in frame.members} <= contents:
            got = f"{frame.members[0].size} bytes" if frame.members else "something that cannot be read"
            self._wrong(letter, original, "payload-changed", "the payload of its original", got)
        if sent.batch is not None:
            return
        if (frame.meta.key, frame.meta.ordering_key) != (sent.key, sent.ordering_key):
            keys = f"key {sent.key!r} and ordering key {sent.ordering_key!r}"
            came = f"{frame.meta.key!r} and {frame.meta.ordering_key!r}"
            self._wrong(letter, original, "keys-changed", keys, came)
        if frame.meta.own_properties != sent.own_properties:
            self._wrong(letter, original, "properties-changed", "the properties of its original", "others, or none")

    def _wrong(self, letter: Letter, original: Stored | None, code: str, expected: str, came: str) -> None:
        proof = (letter.frame,) if original is None else (original, letter.frame)
        self.breach(code, f"{letter}, sent at {ms(letter.frame.t_ns)}, should carry {expected}; it has {came}", *proof)
