"""Events of a long history, made to hold in common what they have in common: names, what is empty, and what several of
them say of one entry. Each was decoded from a line of its own, with a copy of all that stands in it."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec
from msgspec.structs import force_setattr

from assay_conformance.model.event import Event, Frame, Member, Meta, Stored

_MOST: Final = 4096
"""Values that are looked for again: what comes again comes soon, or often."""
_SHARED_TYPES: Final = frozenset({"str", "dict"})
_NOTHING: Final[dict[str, Any]] = {}
"""In the place of every empty dict: events are frozen, and nothing writes to what they hold."""

_Of = tuple[Meta | None, tuple[Member, ...]]


class Sharing:
    """Called with each event as soon as it is decoded, and before anything else holds it; returns the same object."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._entries: dict[int, _Of] = {}
        """Checksum of an entry -> its metadata and messages, as they last came."""

    def __call__(self, event: Event) -> Event:
        self._fields(event)
        if type(event) is Frame and event.unit is not None:
            self._entry(event, "meta", event.unit, (event.meta, event.members))
        elif type(event) is Stored:
            self._entry(event, "described", event.unit, (event.described, event.members))
        return event

    def _fields(self, struct: Event | Meta) -> None:
        words = self._words
        for name in _sharable(type(struct)):
            value = getattr(struct, name)
            if not value:
                # None stays, and the empty text is one object already.
                if value == _NOTHING:
                    force_setattr(struct, name, _NOTHING)
            elif type(value) is str and (known := words.setdefault(value, value)) is not value:
                force_setattr(struct, name, known)
        if len(words) > _MOST:
            words.clear()

    def _entry(self, event: Frame | Stored, meta: str, unit: int, said: _Of) -> None:
        known = self._entries.get(unit)
        if known == said:
            force_setattr(event, meta, known[0])
            force_setattr(event, "members", known[1])
            return
        if len(self._entries) > _MOST:
            self._entries.clear()
        self._entries[unit] = said
        if said[0] is not None:
            self._fields(said[0])


@cache
def _sharable(kind: type) -> tuple[str, ...]:
    """Return the fields of a type that hold text or dicts."""
    return tuple(field.name for field in msgspec.structs.fields(kind) if _is_sharable(field.type))


def _is_sharable(kind: Any) -> bool:
    """Return whether a type is `str`, `dict[...]`, or either of them or None."""
    return any(
        getattr(getattr(one, "__origin__", one), "__name__", "") in _SHARED_TYPES for one in (kind, *_args(kind))
    )


def _args(kind: Any) -> tuple[Any, ...]:
    return kind.__args__ if type(kind).__name__ in ("UnionType", "Union", "_UnionGenericAlias") else ()
