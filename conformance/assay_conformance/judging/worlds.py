"""Possible worlds: what a producer's sends allow a topic to hold, when it is unknown whether some of them happened.

A send that was acknowledged is in every world, one that surely failed is in none, and one of unknown outcome is in some
worlds and not in others. A topic's log contradicts the sends when no world can have produced it:

* lost: an acknowledged message is not there;
* phantom: a message is there that was not sent, or whose send surely failed;
* twice: a message is there more often than it was sent (only where each must be stored once);
* disorder: first copies are not in send order.

Worlds are never listed. Lost, phantom and twice are counts. Order is one pass over the log that keeps the set of places
in the send order where the producer can be: one integer where contents differ, as a rule, and a bit set where the same
content was sent more than once. An entry whose content came before may be a copy that a resend left behind, and then
the producer stays where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Standing(Enum):
    """In how many worlds a send happened."""

    CERTAIN = "certain"
    POSSIBLE = "possible"
    IMPOSSIBLE = "impossible"


class Kind(Enum):
    LOST = "lost"
    PHANTOM = "phantom"
    TWICE = "twice"
    DISORDER = "disorder"


# As in `model.event`: members of enums are slow to find, and every send is asked.
_CERTAIN, _POSSIBLE, _IMPOSSIBLE = Standing.CERTAIN, Standing.POSSIBLE, Standing.IMPOSSIBLE


class Sent(NamedTuple):
    """One send, in send order. `content` is what a log entry shows of it."""

    content: Hashable
    standing: Standing


@dataclass(frozen=True, slots=True)
class Contradiction:
    """`send` and `entries` are indexes into the sends and the log: those that contradict each other."""

    kind: Kind
    send: int | None
    entries: tuple[int, ...] = ()


def contradictions(sends: Sequence[Sent], log: Sequence[Hashable], *, once: bool) -> list[Contradiction]:
    """Return what in this log no world explains; empty exactly when some world does.

    `once`: no copies are allowed.
    """
    if [sent.content for sent in sends if sent.standing is not _IMPOSSIBLE] == list(log):
        return []  # Everything that may have happened did, and nothing twice.
    found = counted(sends, log, once=once)
    if not found:
        return disorder(sends, log, once=once)
    # If something is missing or surplus, order is still judged for the rest.
    possible = [Sent(sent.content, Standing.POSSIBLE) for sent in sends]
    known = {sent.content for sent in sends}
    places = [place for place, content in enumerate(log) if content in known]
    order = disorder(possible, [log[place] for place in places], once=False)
    return found + [
        Contradiction(each.kind, each.send, tuple(places[entry] for entry in each.entries)) for each in order
    ]


def counted(sends: Sequence[Sent], log: Sequence[Hashable], *, once: bool) -> list[Contradiction]:
    """Return what is lost, phantom or twice: how often each content is there, against how often it may be."""
    least = Counter([sent.content for sent in sends if sent.standing is _CERTAIN])
    most = Counter([sent.content for sent in sends if sent.standing is not _IMPOSSIBLE])
    last_send = {sent.content: place for place, sent in enumerate(sends)}
    found: list[Contradiction] = []
    there: dict[Hashable, list[int]] = {}
    for place, content in enumerate(log):
        copies = there.get(content)
        if copies is None:
            copies = there[content] = []
        copies.append(place)
        if content not in most:
            if len(copies) == 1:
                found.append(Contradiction(Kind.PHANTOM, last_send.get(content), (place,)))
        elif once and len(copies) == most[content] + 1:
            found.append(Contradiction(Kind.TWICE, last_send[content], (copies[0], place)))
    found.extend(
        Contradiction(Kind.LOST, last_send[content])
        for content, count in least.items()
        if len(there.get(content, ())) < count
    )
    return found


def disorder(sends: Sequence[Sent], log: Sequence[Hashable], *, once: bool) -> list[Contradiction]:
    """Return at most one contradiction: the first entry that comes too late to be in send order.

    With it goes the one that it should have preceded. The log holds nothing but what was sent (see `counted`).
    """
    happened = [(place, sent) for place, sent in enumerate(sends) if sent.standing is not _IMPOSSIBLE]
    places = {sent.content: index for index, (_, sent) in enumerate(happened)}
    if len(places) == len(happened):
        return _increasing(happened, places, log)
    return _walk(happened, log, once)


def _increasing(
    happened: Sequence[tuple[int, Sent]], places: dict[Hashable, int], log: Sequence[Hashable]
) -> list[Contradiction]:
    """Return the disorder if every content was sent once: first copies must be at increasing positions."""
    furthest, furthest_entry = -1, -1
    seen: set[Hashable] = set()
    for entry, content in enumerate(log):
        if content in seen:
            continue
        seen.add(content)
        place = places[content]
        if place < furthest:
            return [Contradiction(Kind.DISORDER, happened[place][0], (furthest_entry, entry))]
        furthest, furthest_entry = place, entry
    return []


def _walk(happened: Sequence[tuple[int, Sent]], log: Sequence[Hashable], once: bool) -> list[Contradiction]:
    """Return the contradictions in order.

    Bit p of `at`: a world exists in which the log so far came from the first p sends.
    """
    matches: dict[Hashable, int] = {}
    optional = 0
    for place, (_, sent) in enumerate(happened):
        matches[sent.content] = matches.get(sent.content, 0) | 1 << place
        if sent.standing is Standing.POSSIBLE:
            optional |= 1 << place
    at, advanced = 1, -1
    seen: set[Hashable] = set()
    for entry, content in enumerate(log):
        forward = (_skipping(at, optional) & matches[content]) << 1
        copy = at if content in seen and not once else 0
        if not forward | copy:
            return [Contradiction(Kind.DISORDER, _first_send(happened, content), (max(advanced, 0), entry))]
        if forward:
            advanced = entry
        at = forward | copy
        seen.add(content)
    if _skipping(at, optional) >> len(happened) & 1:
        return []
    return [Contradiction(Kind.DISORDER, happened[at.bit_length() - 1][0], (max(advanced, 0),))]


def _skipping(at: int, optional: int) -> int:
    """Return where one can be after skipping optional sends: a carry runs through each stretch of them."""
    return at | (((at & optional) + optional) ^ optional)


def _first_send(happened: Sequence[tuple[int, Sent]], content: Hashable) -> int:
    return next(place for place, sent in happened if sent.content == content)
