"""What a letter carries: the whole message, and where it comes from."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.letters.posting import DELAY_TIME, REAL_TOPIC, Kind, Letter, LetterCheck, times_of
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Frame, Invoke, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic


class _WholeLetter(LetterCheck):
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


class WholeDeadLetter(_WholeLetter):
    requirement = RequirementId("letters.dead-letter-is-whole")
    needs = (Setting("consumer", "max_redeliver_count"),)
    kind = Kind.DEAD


class WholeRetryLetter(_WholeLetter):
    """Beside its content: one more round than the copy that was sent round, and a time as far off as was asked."""

    requirement = RequirementId("letters.retry-letter-is-whole")
    needs = (Setting("consumer", "retry_letters"),)
    kind = Kind.RETRY

    def start(self) -> None:
        super().start()
        self._asked: dict[Entry, tuple[Invoke, int]] = {}
        """Original -> the call that sent it round last, and how often it had been round by then."""

    @on(Invoke, "reconsume_later")
    def asked(self, event: Invoke) -> None:
        for ordinal in event.args.get("messages", ()):
            message = self.tracker.delivery(event.handle or 0, ordinal)
            entry = None if message is None else self.handed(message)
            if entry is not None:
                stored = self.stored.get(entry)
                times = 0 if stored is None else times_of(stored.meta.letter)
                self._asked[self.origin_of(entry)] = (event, times)

    def posted(self, letter: Letter) -> None:
        super().posted(letter)
        asked = None if letter.origin is None else self._asked.get(letter.origin)
        if letter.kind is not self.kind or letter.origin is None or letter.again or asked is None:
            return
        call, times = asked
        original, told = self.stored.get(letter.origin), times_of(letter.told)
        if original is not None and original.meta.batch is not None:
            return  # Its messages go round each for itself, and their letters tell the same origin.
        if told != times + 1:
            self._wrong(letter, original, "rounds-miscounted", f"RECONSUMETIMES {times + 1}", str(told))
        delay_ms = int(call.args.get("delay_ms", 0))
        if letter.told.get(DELAY_TIME) != str(delay_ms):
            came = letter.told.get(DELAY_TIME, "none")
            self._wrong(letter, original, "other-delay", f"{DELAY_TIME} {delay_ms}", came)
        self._time(letter, call, delay_ms, letter.frame)

    def _time(self, letter: Letter, call: Invoke, delay_ms: int, frame: Frame) -> None:
        began, meta = self.tracker.began, frame.meta
        if began is None or meta is None:
            return
        slack_ns = TOLERANCES["wall-clock"].slack_ns
        earliest_ns, latest_ns = call.t_ns + delay_ms * MS - slack_ns, frame.t_ns + delay_ms * MS + slack_ns
        due_ns = None if meta.deliver_at_ms is None else (meta.deliver_at_ms - began.unix_ms) * MS
        if (due_ns is None and delay_ms) or (due_ns is not None and not earliest_ns <= due_ns <= latest_ns):
            came = "no deliver_at_time" if due_ns is None else f"one of {ms(due_ns)}"
            self.breach(
                "other-time",
                f"{letter} was asked for at {ms(call.t_ns)}, to come {delay_ms} ms later, and sent at "
                f"{ms(frame.t_ns)}; it has {came}",
                call,
                frame,
            )
