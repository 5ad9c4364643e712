"""Deduplication: a topic that remembers each producer name's highest sequence id, and a client that goes along with it.

The client takes a duplicate's receipt as success
(`duplicate-receipt-completes`), numbers a new producer after the last id the broker knows
(`resumes-after-last-sequence-id`), and one that comes back after its own (`reconnect-keeps-numbering`). Together: each
message is stored exactly once and in order (`effectively-once`).
"""

from __future__ import annotations

from assay_conformance.checks.base import View
from assay_conformance.model.case import Case, Who
from assay_conformance.model.fault import Rewrite

NO_SEQUENCE_ID = -1


def calls_markers(case: Case) -> bool:
    """Whether a fault of the Case says of SENDs that they are markers."""
    return any(isinstance(fault.action, Rewrite) and "marker" in fault.action.fields for fault in case.faults)


def deduplicated(view: View) -> frozenset[str]:
    """Topics that deduplicate from the Case's first step to its last; none where a fault calls SENDs markers, for those
    pass whatever their id is, and only `markers-are-exempt` counts without them."""
    if calls_markers(view.case):
        return frozenset()
    changed = {
        step.args.get("topic")
        for step in view.case.steps
        if step.who is Who.BROKER and step.verb == "set_policy" and "deduplication" in step.args
    }
    return frozenset(topic.name for topic in view.case.topology.topics if topic.deduplication) - changed


def initial_id(view: View, handle: int) -> int | None:
    """The configured initial sequence id; clients that must have a number write "none" as a negative one."""
    configured = view.producer_setting(handle, "initial_sequence_id")
    return None if configured is None or int(configured) < 0 else int(configured)


def may_repeat_ids(view: View, handle: int) -> bool:
    """The application chooses ids, or where they begin: the broker may have seen them before."""
    return handle in view.tracker.foresight.explicit or initial_id(view, handle) is not None
