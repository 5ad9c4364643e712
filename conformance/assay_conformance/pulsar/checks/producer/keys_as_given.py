from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Invoke, Member, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


class _Written(NamedTuple):
    """A stored message, and the call that sent it with a key, or an ordering key."""

    stored: Stored
    member: Member
    call: Invoke


def _written(timeline: Timeline) -> Iterator[_Written]:
    """Yield messages of their own topics: letters are copies, which other chapters judge."""
    calls = (call for call in timeline.events.invokes("send") if call.args.get("key") or call.args.get("ordering_key"))
    given = {(call.handle, call.number): call for call in calls}
    for stored in timeline.events.of(Stored) if given else ():
        for member in stored.members:
            identity = timeline.own(member.identity)
            call = None if identity is None else given.get((identity.handle, identity.number))
            opening = None if identity is None else timeline.openings.get(identity.handle)
            if call is not None and opening is not None and opening.args.get("topic") == base_topic(stored.topic):
                yield _Written(stored, member, call)


@check("producer.keys-as-given", of=_written)
def keys_as_given(timeline: Timeline, one: _Written) -> Says:
    """producer.keys-as-given: a message is stored with the key that it was sent with, and where it is no batch with the
    ordering key, too. Of a batch the witnesses know the ordering key of the whole alone."""
    stored, member, args = one.stored, one.member, one.call.args
    pairs = [("key", args.get("key"), member.key)]
    if stored.meta.batch is None:
        pairs.append(("ordering key", args.get("ordering_key"), (stored.meta.ordering_key or b"").decode()))
    for what, given, written in pairs:
        if (given or None) != (written or None):
            yield breach(
                "changed",
                f"a message was sent at {ms(one.call.t_ns)} with the {what} {given!r}; expected entry {stored.id.name} "
                f"of topic {stored.topic} to carry it; its {what} is {written!r}",
                *(one.call, stored),
            )
            return
    yield Exercised(stored)
