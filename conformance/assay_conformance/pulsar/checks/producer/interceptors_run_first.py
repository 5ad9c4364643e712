from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay_conformance.model.event import Note, Outcome
from assay_conformance.model.hooks import ACKNOWLEDGED, BEFORE_SEND, ROUTER
from assay_conformance.pulsar.timeline import Exercised, Says, Send, Timeline, breach, check, ms


def _intercepted(timeline: Timeline) -> Iterator[Send]:
    for handle in timeline.openings:
        if timeline.view.producer_setting(handle, "interceptor") is not None:
            yield from (send for send in timeline.sends_of(handle) if send.outcome is Outcome.OK)


@check("producer.interceptors-run-first", of=_intercepted)
def interceptors_run_first(timeline: Timeline, send: Send) -> Says:
    """producer.interceptors-run-first: where a send succeeds, its interceptor was called once before the router, and
    once at the end of the send, before the end is reported to the application."""
    handle, number, end = send.invoke.handle or 0, send.invoke.number or 0, send.completion
    timeline.check_numbered(handle)
    notes = timeline.notes.get((handle, number), [])
    wrong = None if end is None else _wrong(notes, [note.text for note in notes if note.seq < end.seq])
    if end is None or wrong is None:
        yield Exercised(end or send.invoke)
        return
    code, expected = wrong
    calls = ", ".join(f"{note.text} at {ms(note.t_ns)}" for note in notes) or "no calls"
    yield breach(
        code,
        f"message {number} of producer {handle}, whose send ended at {ms(end.t_ns)}, had {calls}; {expected}",
        send.invoke,
        *notes[:2],
        end,
    )


def _wrong(notes: Sequence[Note], ahead: Sequence[str]) -> tuple[str, str] | None:
    """Return a code and what was expected. `ahead`: what was called before the application got the result."""
    if sorted(note.text for note in notes if note.text != ROUTER) != sorted((BEFORE_SEND, ACKNOWLEDGED)):
        return "not-once", "expected one call before it was sent and one at its end"
    if ahead[0] != BEFORE_SEND:
        return "behind-router", "expected the interceptor's call ahead of the router's"
    return None if ahead[-1] == ACKNOWLEDGED else ("told-late", "expected the call at its end before the application's")
