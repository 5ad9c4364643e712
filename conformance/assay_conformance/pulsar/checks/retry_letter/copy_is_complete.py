"""retry-letter.copy-is-complete"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import sent_round
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Invoke, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dead_letter._sending import DELAY_TIME, Kind, Letter, times_of
from assay_conformance.pulsar.checks.dead_letter._whole_letter import WholeLetter


class RetryLetterCopyIsComplete(WholeLetter):
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
