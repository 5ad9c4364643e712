"""Chunked messages that the Python client gives up, recognised on the wire.

It throws away what it has of a message when a chunk of it comes a second time, which is what a kill in the midst of one
does. The message is delivered after its successors once its topic is loaded again, or never. The client's list of
known failures has it; a failure is excused only where the wire shows of its message that this happened to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Completion, Event, Frame, Identity, Invoke, Received
from assay_conformance.model.verdict import Judgement, Verdict
from assay_conformance.pulsar.timeline.assembly import Assembly, ChunkFate
from assay_fixtures.agents import manifest
from assay_reports.expectations import read_expectations

KNOWN_AS = "chunking.repeated-chunk-dropped"
CODES = {
    "chunking.survives-reconnect": {"not-delivered"},
    "topics.ownership-change-loses-nothing": {"lost", "reordered"},
}
_AGAIN = (ChunkFate.RESTARTED, ChunkFate.REDELIVERED, ChunkFate.REPEATED)

Message = tuple[int, int]
"""The handle of its producer and its number."""


def gives_up(agent: str, version: str) -> bool:
    """Return whether this version of the agent's client is known to give messages up."""
    path = manifest.find(agent).expectations
    entries = read_expectations(path).entries if path.exists() else ()
    return any(entry.requirement == KNOWN_AS and entry.applies_to(version) for entry in entries)


def given_up(events: Iterable[Event]) -> Set[Message]:
    """Return the messages of which a chunk came again while they were incomplete."""
    # One for all sessions: the client does not start over with a new connection.
    assembly = Assembly()
    again: set[str] = set()
    names: dict[str, Message] = {}
    for event in events:
        if not isinstance(event, Frame) or event.command != "MESSAGE" or event.meta is None or not event.meta.uuid:
            continue
        position = event.ids[0]
        if assembly.add(event.meta, Entry("", position.ledger, position.entry)) in _AGAIN:
            again.add(event.meta.uuid)
        # Only the last chunk shows whose message it is.
        if event.members and (identity := event.members[0].identity) is not None:
            names[event.meta.uuid] = _message(identity)
    return {names[uuid] for uuid in again if uuid in names}


def is_given_up(judgement: Judgement, events: Sequence[Event]) -> bool:
    """Return whether all that a failed judgement finds missing or late are messages that were given up."""
    codes = CODES.get(judgement.requirement, set())
    if judgement.verdict is not Verdict.FAIL or any(finding.code not in codes for finding in judgement.findings):
        return False
    known = given_up(events)
    by_seq = {event.seq: event for event in events}
    sends = {event.op: event for event in events if isinstance(event, Invoke) and event.verb == "send"}
    about = [_about([by_seq[seq] for seq in sorted(finding.events)], sends) for finding in judgement.findings]
    return bool(about) and all(message in known for message in about)


def _about(shown: Iterable[Event], sends: dict[int, Invoke]) -> Message | None:
    """Return the message of the last event that is about one: a late hand-over, a last chunk, or a reported send."""
    found: Message | None = None
    for event in shown:
        if isinstance(event, Completion) and (send := sends.get(event.op)) is not None:
            found = (send.handle or 0, send.number or 0)
        elif isinstance(event, Received) and event.identity is not None:
            found = _message(event.identity)
        elif isinstance(event, Frame) and event.members and (identity := event.members[0].identity) is not None:
            found = _message(identity)
    return found


def _message(identity: Identity) -> Message:
    return identity.handle, identity.number
