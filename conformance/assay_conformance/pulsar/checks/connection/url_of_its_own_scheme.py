from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.parts import ended_by_client, topics_of
from assay_conformance.history.events import OPENS
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Outcome, Overdue
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms
from assay_conformance.wire.service_urls import named_brokers


class _Opening(NamedTuple):
    """An open call whose lookup was answered with two URLs, and how the call ended or that it had not in time."""

    call: Invoke
    answer: Frame
    end: Completion | Overdue


def _openings(timeline: Timeline) -> Iterator[_Opening]:
    answers = [one for one in _answers(timeline) if len(named_brokers("LOOKUP_RESPONSE", one[0].fields)) > 1]
    for call in timeline.events.invokes(*OPENS) if answers else ():
        end, topics = timeline.end_or_overdue(call.op), topics_of(timeline.view, call)
        if end is not None:
            its_own = (one for one, topic in answers if call.seq < one.seq < end.seq and base_topic(topic) in topics)
            answer = next(its_own, None)
            if answer is not None:
                yield _Opening(call, answer, end)


def _answers(timeline: Timeline) -> Iterator[tuple[Frame, str]]:
    for one in timeline.requests("LOOKUP"):
        if one.answer is not None and one.answer.to_receiver and one.answer.fields.get("response") == "Connect":
            yield one.answer, timeline.local_topic(one.frame)


@check("connection.url-of-its-own-scheme", of=_openings)
def url_of_its_own_scheme(timeline: Timeline, opening: _Opening) -> Says:
    """connection.url-of-its-own-scheme: of two URLs of one broker a client takes the one whose scheme is that of its
    own service URL.

    Seen by the open call: it registers. Not judged where a connection was lost meanwhile.
    """
    call, answer, end = opening
    if isinstance(end, Completion) and end.outcome is Outcome.OK:
        yield Exercised(end)
    elif not _registers(timeline, opening) and not _has_another_reason(timeline, opening):
        urls = " and ".join(named_brokers("LOOKUP_RESPONSE", answer.fields))
        yield breach(
            "not-opened",
            f"the lookup answer at {ms(answer.t_ns)} names {urls}; expected {call.verb} of handle {call.handle} to "
            f"connect to the URL of its own scheme, and to register there; it had not by {ms(end.t_ns)}",
            *(answer, end),
        )


def _registers(timeline: Timeline, opening: _Opening) -> bool:
    registered = timeline.events.frames("PRODUCER", "SUBSCRIBE")
    return any(opening.answer.seq < one.seq < opening.end.seq for one in registered)


def _has_another_reason(timeline: Timeline, opening: _Opening) -> bool:
    lost: list[Event] = [one for one in timeline.disconnections if opening.answer.seq < one.seq < opening.end.seq]
    return bool(lost) or (isinstance(opening.end, Completion) and ended_by_client(opening.end))
