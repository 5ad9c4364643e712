"""What a letter carries: the whole message, and where it comes from."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import sent_round
from assay_conformance.checks.letters.posting import DELAY_TIME, REAL_TOPIC, Kind, Letter, LetterCheck, times_of
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Invoke, Stored
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
    requirement = RequirementId("dead-letter.copy-is-complete")
    needs = (Setting("consumer", "max_redeliver_count"),)
    kind = Kind.DEAD


class WholeRetryLetter(_WholeLetter):
    """Beside its content: one more round than the copy that was sent round, and a time as far off as was asked."""

    requirement = RequirementId("retry-letter.copy-is-complete")
    needs = (Setting("consumer", "retry_letters"),)
    kind = Kind.RETRY

    def start(self) -> None:
        super().start()
        self._asked: dict[Entry, list[tuple[Invoke, int]]] = {}
        """Original -> the calls that sent it round, and how often it had been round by each."""
        self._served: set[int] = set()
        """Those of the calls, by operation, that a letter was seen of."""

    @on(Invoke, "reconsume_later")
    def asked(self, event: Invoke) -> None:
        for _, entry in sent_round(self.tracker, event):
            stored = self.stored.get(entry)
            times = 0 if stored is None else times_of(stored.meta.letter)
            self._asked.setdefault(self.origin_of(entry), []).append((event, times))

    def posted(self, letter: Letter) -> None:
        super().posted(letter)
        asked = None if letter.origin is None else self._asked.get(letter.origin)
        if letter.kind is not self.kind or letter.origin is None or letter.again or asked is None:
            return
        original = self.stored.get(letter.origin)
        if original is not None and original.meta.batch is not None:
            return  # Its messages go round each for itself, and their letters tell the same origin.
        # Who asks twice gets a letter for each; those of earlier rounds have theirs.
        open_ = [(call, times) for call, times in asked if times == asked[-1][1] or call.op not in self._served]
        fitting = next((call for call, times in open_ if self._is_of(letter, call, times)), None)
        if fitting is None:
            self._judge(letter, original, *asked[-1])
        else:
            self._served.add(fitting.op)

    def _is_of(self, letter: Letter, call: Invoke, times: int) -> bool:
        rounds, delay_ms = times_of(letter.told), letter.told.get(DELAY_TIME)
        return rounds == times + 1 and delay_ms == str(_delay_ms(call)) and self._is_in_time(letter, call)

    def _judge(self, letter: Letter, original: Stored | None, call: Invoke, times: int) -> None:
        told, delay_ms = times_of(letter.told), _delay_ms(call)
        if told != times + 1:
            self._wrong(letter, original, "rounds-miscounted", f"RECONSUMETIMES {times + 1}", str(told))
        if letter.told.get(DELAY_TIME) != str(delay_ms):
            came = letter.told.get(DELAY_TIME, "none")
            self._wrong(letter, original, "other-delay", f"{DELAY_TIME} {delay_ms}", came)
        if not self._is_in_time(letter, call):
            due_ns = self._due_ns(letter)
            came = "no deliver_at_time" if due_ns is None else f"one of {ms(due_ns)}"
            self.breach(
                "other-time",
                f"{letter} was asked for at {ms(call.t_ns)}, to come {delay_ms} ms later, and sent at "
                f"{ms(letter.frame.t_ns)}; it has {came}",
                call,
                letter.frame,
            )

    def _is_in_time(self, letter: Letter, call: Invoke) -> bool:
        if self.tracker.began is None or letter.frame.meta is None:
            return True
        delay_ms, due_ns, slack_ns = _delay_ms(call), self._due_ns(letter), TOLERANCES["wall-clock"].slack_ns
        if due_ns is None:
            return not delay_ms
        earliest_ns, latest_ns = call.t_ns + delay_ms * MS - slack_ns, letter.frame.t_ns + delay_ms * MS + slack_ns
        return earliest_ns <= due_ns <= latest_ns

    def _due_ns(self, letter: Letter) -> int | None:
        began, meta = self.tracker.began, letter.frame.meta
        if began is None or meta is None or meta.deliver_at_ms is None:
            return None
        return (meta.deliver_at_ms - began.unix_ms) * MS


def _delay_ms(call: Invoke) -> int:
    return int(call.args.get("delay_ms", 0))
