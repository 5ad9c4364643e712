from __future__ import annotations

from assay_conformance.checks.lines import differs_in_publish_time_alone
from assay_conformance.pulsar.timeline import Breach, Resent, Says, Timeline, UnknownError, agreement, breach, check, ms


@check("resend.identical-bytes", of=lambda timeline: timeline.resent)
def identical_bytes(timeline: Timeline, resent: Resent) -> Says:
    """resend.identical-bytes: a unit that is sent again on a new session has the same bytes, ids and messages. It may
    have a new publish time."""
    unit, session, again, first = resent.unit, resent.session, resent.frame, resent.unit.first
    if unit.sent_on(session) is not again:
        return
    if not unit.numbers and timeline.had_reused_ids(unit.line, again):
        raise UnknownError("small messages reuse a sequence id: it is unknown which of them was sent again")
    numbers, frames = timeline.numbers(again, session), (first, again)
    pairs = [
        ("id-changed", *(f"sequence id {frame.sequence_id}" for frame in frames)),
        ("id-changed", *(f"highest sequence id {frame.highest_sequence_id or 0}" for frame in frames)),
        ("cut-again", *(f"{frame.num_messages} messages" for frame in frames)),
    ]
    if numbers and unit.numbers:
        pairs.insert(0, ("cut-again", *(f"messages {these[0]} to {these[-1]}" for these in (unit.numbers, numbers))))
    if first.unit is not None and again.unit is not None and not differs_in_publish_time_alone(first, again):
        pairs.append(("bytes-changed", *(f"checksum {frame.unit:#010x}" for frame in frames)))

    def differs(code: str, expected: str, came: str) -> Breach:
        return breach(
            code,
            f"{unit.line} sent {unit} again on connection {again.conn} at {ms(again.t_ns)} as something else: expected "
            f"{expected} as at {ms(first.t_ns)}, got {came}",
            *frames,
        )

    yield from agreement(again, pairs, differs)
