from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assay_conformance.model.event import Closed, Completion, ErrorClass, Fate
from assay_conformance.pulsar.checks.connection._credentials import given_in_order
from assay_conformance.pulsar.timeline import MS, Exercised, Producer, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.requests import HANDSHAKE

_WITHIN_MS: Final = 6_000
"""A few attempts, and the pauses between them."""

_GIVEN_UP: Final = (ErrorClass.AUTH, ErrorClass.TRANSPORT)
"""What sends fail with when their producer has ended for want of credentials, or of a connection."""


Lost = tuple[Producer, Closed]


def _lost(timeline: Timeline) -> Iterator[Lost]:
    """Yield connections of open producers that ended, in Cases whose supplier fails for a time.

    A producer that its broker had ended before, as that of a terminated topic, is no longer open.
    """
    given = given_in_order(timeline)
    if not given or given[-1].data is None or all(one.data is not None for one in given):
        return
    for line in timeline.producers:
        for session in line.sessions:
            ended = timeline.closed(session.conn)
            if session.admitted is not None and ended is not None and timeline.is_open(line.handle, ended):
                yield line, ended


@check("connection.reconnects-after-supplier-failure", of=_lost)
def reconnects_after_supplier_failure(timeline: Timeline, lost: Lost) -> Says:
    """connection.reconnects-after-supplier-failure: an open producer that loses its connection registers again although
    the supplier of credentials fails in between.
    """
    line, ended = lost
    if timeline.has_begun_to_end(ended.seq):
        return
    again = next((one.admitted for one in line.sessions if one.admitted and one.admitted.seq > ended.seq), None)
    if again is not None:
        yield Exercised(again)
        return
    over, failed = line.closing or timeline.ended, _failed(timeline, line, ended)
    if failed is not None:
        yield breach("gave-up", f"{_since(line, ended)}; a send of it failed at {ms(failed.t_ns)}", ended, failed)
        return
    if _is_held_up(timeline, ended):
        return
    if timeline.bounds.is_missing("answer", ended.t_ns + _WITHIN_MS * MS, over.t_ns, what="a registration"):
        yield breach("gave-up", f"{_since(line, ended)}; it had not by {ms(over.t_ns)}", ended, over)


def _is_held_up(timeline: Timeline, ended: Closed) -> bool:
    """Return whether a fault touched a later handshake: for how long a client waits then is another requirement's."""
    return any(one.seq > ended.seq and one.fate is not Fate.PASSED for one in timeline.events.frames(*HANDSHAKE))


def _since(line: Producer, ended: Closed) -> str:
    since = f"{line}: its connection ended at {ms(ended.t_ns)}; its supplier of credentials failed, then recovered"
    return f"{since}; expected it to register again"


def _failed(timeline: Timeline, line: Producer, ended: Closed) -> Completion | None:
    """Return the end of a send that failed, without waiting for the reconnect, and had time left."""
    ends = (send.completion for send in timeline.sends_of(line.handle))
    return next((end for end in ends if end and end.seq > ended.seq and end.error in _GIVEN_UP), None)
