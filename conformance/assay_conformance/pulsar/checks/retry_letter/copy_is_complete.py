from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.checks.dead_letter._whole_copy import judge_whole_copy, lacks
from assay_conformance.pulsar.timeline import MS, TOLERANCES, Entry, Says, Timeline, breach, check, each, ms
from assay_conformance.pulsar.timeline.letters import DELAY_TIME, Kind, Letter, Round
from assay_conformance.pulsar.timeline.originals import times_of


@check("retry-letter.copy-is-complete")
def retry_letter_copy_is_complete(timeline: Timeline) -> Says:
    """retry-letter.copy-is-complete: a retry letter has the payload, keys and properties of its original, and names it
    in properties; its RECONSUMETIMES is one more than that of the message it copies, and its delivery time is as far
    off as the call asked for."""
    yield from each(timeline.letters.of(Kind.RETRY), judge_whole_copy, timeline)
    yield from each(_unlike_their_calls(timeline), _judge_as_asked, timeline)


def _unlike_their_calls(timeline: Timeline) -> Iterator[tuple[Letter, Round]]:
    """Yield letters that differ from their calls, each with the last call for its message.

    Two calls for one message get a letter each; those of earlier rounds have theirs. The messages of a batch go round
    each for itself, and their letters name the same origin: they are not judged.
    """
    served: set[int] = set()
    asked: dict[Entry, list[Round]] = {}
    for one in timeline.letters.rounds:
        asked.setdefault(one.origin, []).append(one)
    for letter in timeline.letters.of(Kind.RETRY):
        calls = [one for one in _asked_for(asked, letter) if one.call.seq < letter.frame.seq]
        original = None if letter.origin is None else timeline.letters.stored(letter.origin)
        if not calls or letter.again or (original is not None and original.meta.batch is not None):
            continue
        open_ = [one for one in calls if one.times == calls[-1].times or one.call.op not in served]
        fitting = next((one for one in open_ if _fits(timeline, letter, one)), None)
        if fitting is None:
            yield letter, calls[-1]
        else:
            served.add(fitting.call.op)


def _asked_for(asked: dict[Entry, list[Round]], letter: Letter) -> list[Round]:
    return [] if letter.origin is None else asked.get(letter.origin, [])


def _fits(timeline: Timeline, letter: Letter, one: Round) -> bool:
    counted, delay_ms = times_of(letter.says), letter.says.get(DELAY_TIME)
    in_time = _is_in_time(timeline, letter, one.call)
    return counted == one.times + 1 and delay_ms == str(_delay_ms(one.call)) and in_time


def _judge_as_asked(timeline: Timeline, asked: tuple[Letter, Round]) -> Says:
    letter, (call, _, _, _, times) = asked
    original = None if letter.origin is None else timeline.letters.stored(letter.origin)
    counted, delay_ms, said_ms = times_of(letter.says), _delay_ms(call), letter.says.get(DELAY_TIME, "none")
    if counted != times + 1:
        yield lacks(letter, original, "rounds-miscounted", f"RECONSUMETIMES {times + 1}", str(counted))
    if said_ms != str(delay_ms):
        yield lacks(letter, original, "other-delay", f"{DELAY_TIME} {delay_ms}", said_ms)
    if not _is_in_time(timeline, letter, call):
        due_ns = _due_ns(timeline, letter)
        came = "no deliver_at_time" if due_ns is None else f"one of {ms(due_ns)}"
        yield breach(
            "other-time",
            f"{letter} was asked for at {ms(call.t_ns)} with a delay of {delay_ms} ms, and sent at "
            f"{ms(letter.frame.t_ns)}; it has {came}",
            *(call, letter.frame),
        )


def _is_in_time(timeline: Timeline, letter: Letter, call: Invoke) -> bool:
    delay_ms, due_ns, slack_ns = _delay_ms(call), _due_ns(timeline, letter), TOLERANCES["wall-clock"].slack_ns
    if timeline.view.tracker.began is None:
        return True
    if due_ns is None:
        return not delay_ms
    earliest_ns, latest_ns = call.t_ns + delay_ms * MS - slack_ns, letter.frame.t_ns + delay_ms * MS + slack_ns
    return earliest_ns <= due_ns <= latest_ns


def _due_ns(timeline: Timeline, letter: Letter) -> int | None:
    began, meta = timeline.view.tracker.began, letter.frame.meta
    if began is None or meta is None or meta.deliver_at_ms is None:
        return None
    return (meta.deliver_at_ms - began.unix_ms) * MS


def _delay_ms(call: Invoke) -> int:
    return int(call.args.get("delay_ms", 0))
