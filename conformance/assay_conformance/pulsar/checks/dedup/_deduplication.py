"""Deduplication: the topic remembers the highest sequence id of each producer name.

The client takes the receipt of a duplicate as success (`duplicate-receipt-completes`), numbers a new producer after the
broker's last id (`resumes-after-last-sequence-id`), and one that reconnects after its own last id
(`reconnect-keeps-numbering`). Together: each message is stored exactly once and in order (`effectively-once`).
"""

from __future__ import annotations

from collections.abc import Set

from assay_conformance.checks.base import View
from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Rewrite
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import ProducerSession, Timeline

NO_SEQUENCE_ID = -1


def last_sequence_id(success: Frame) -> int:
    """Return the last id that a PRODUCER_SUCCESS names, `NO_SEQUENCE_ID` if none."""
    return int(success.fields.get("last_sequence_id", NO_SEQUENCE_ID))


def calls_markers(case: Case) -> bool:
    """Return whether a fault of the Case turns SENDs into markers."""
    return any(isinstance(fault.action, Rewrite) and "marker" in fault.action.fields for fault in case.faults)


def deduplicated(view: View) -> frozenset[str]:
    """Return the topics that deduplicate during the whole Case; none where a fault turns SENDs into markers, which are
    stored whatever their id is (`markers-are-exempt` judges those)."""
    if calls_markers(view.case):
        return frozenset()
    changed = {
        step.args.get("topic")
        for step in view.case.steps
        if step.who is Who.BROKER and step.verb == "set_policy" and "deduplication" in step.args
    }
    return frozenset(topic.name for topic in view.case.topology.topics if topic.deduplication) - changed


def initial_id(view: View, handle: int) -> int | None:
    """Return the configured initial sequence id; a negative one means none, for clients that need a number."""
    configured = view.producer_setting(handle, "initial_sequence_id")
    return None if configured is None or int(configured) < 0 else int(configured)


def may_repeat_ids(view: View, handle: int) -> bool:
    """Return whether the application chooses ids, or where they begin, so that the broker may have seen them before."""
    return handle in view.tracker.foresight.explicit or initial_id(view, handle) is not None


Name = tuple[str, str]
"""Topic and producer name."""


def named_session(timeline: Timeline, frame: Frame, topics: Set[str]) -> ProducerSession | None:
    """Return the session of a frame, where its producer has a name and its topic is one of these."""
    session = timeline.session_of(frame)
    is_known = session is not None and session.name is not None and base_topic(session.topic) in topics
    return session if is_known else None


def name_of(session: ProducerSession) -> Name:
    """Return topic and name of a producer."""
    return session.topic, session.name or ""
