from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import from_client
from assay_conformance.ledger.clauses import SHARED_TYPES
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import REDELIVER, Exercised, Says, Timeline, breach, check, ms


def _requests(timeline: Timeline) -> Iterator[tuple[str, Frame]]:
    """Yield the client's own requests, with the type of a subscription that several consumers share."""
    for frame in timeline.events.frames(REDELIVER):
        session = timeline.consumer_sessions.of(frame)
        kind = None if session is None else session.request.fields.get("subType")
        if kind in SHARED_TYPES and from_client(frame) and not timeline.may_be_called_for(frame):
            yield str(kind), frame


@check("nack.request-names-messages", of=_requests)
def request_names_messages(timeline: Timeline, request: tuple[str, Frame]) -> Says:
    """nack.request-names-messages: on a Shared or Key_Shared subscription a request for redelivery names messages,
    unless the application called for all of them."""
    kind, frame = request
    if frame.ids:
        yield Exercised(frame)
        return
    yield breach(
        "names-none",
        f"consumer id {frame.consumer_id} of a {kind} subscription requested redelivery at {ms(frame.t_ns)} without "
        "naming a message, which requests everything it holds; expected the ids of messages, or no request",
        frame,
    )
