"""Messages in chunks that a consumer may give up, as its settings say.

One that keeps only so many of them incomplete gives up the oldest, one that waits only so long what takes longer, and
what it gave up may be settled unread: acknowledged by the client itself where the settings say so, or covered by the
next cumulative acknowledgment of what stands behind it (PIP 37).
"""

from __future__ import annotations

from collections import Counter

from assay_conformance.ledger.from_history.messages import NS_PER_US, Messages
from assay_conformance.ledger.from_history.sorting import Sorted
from assay_conformance.ledger.from_history.subscribers import micros, setting, setting_number
from assay_conformance.model.case import Case
from assay_conformance.model.event import Invoke
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.topic_names import base_topic, named_topics


def mark(found: Messages, events: Sorted, case: Case, facts: ClientFacts) -> None:
    """Which messages a consumer may have settled without handing them over, for lack of room or time."""
    kept = Counter(base_topic(topic) for topic, _ in found.chunks)
    if not kept:
        return
    cumulative = {event.handle for event in events.invokes if event.args.get("cumulative")}
    first = case.topology.topics[0].name
    given_up: set[str] = set()
    for opening in events.invokes:
        if opening.verb == "open_consumer":
            read = {base_topic(events.topic(str(full))) for full in named_topics(opening.args, first)}
            settles = opening.handle in cumulative
            given_up |= {one for one in read if _may_settle(events, case, facts, opening, kept[one], settles)}
    for message in found.all if given_up else ():
        inside = any(entry.meta.uuid and base_topic(entry.topic) in given_up for entry, _, _ in message.copies)
        message.damaged = message.damaged or inside


def _may_settle(
    events: Sorted, case: Case, facts: ClientFacts, opening: Invoke, chunked: int, cumulative: bool
) -> bool:
    """A consumer of a topic with so many messages in chunks. What expired a client acknowledges in any case."""
    expires_us = micros(setting_number(case, facts, opening, "expire_incomplete_chunked_ms"))
    kept = setting_number(case, facts, opening, "max_pending_chunked_messages") or 0
    expires = 0 < expires_us < events.ended_ns // NS_PER_US
    settles = cumulative or bool(setting(case, facts, opening, "auto_ack_oldest_chunked"))
    return bool(chunked) and (expires or (settles and 0 < kept < chunked))
