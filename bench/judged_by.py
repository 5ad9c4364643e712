"""By which catalogue what is kept of several versions was judged: a clause or a check may have changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

UNKNOWN = ()


def sentence(catalogues: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence from the catalogue revisions of each version's runs (none: UNKNOWN, they were not recorded)."""
    versions: dict[tuple[str, ...], list[str]] = {}
    for version, revisions in catalogues.items():
        versions.setdefault(tuple(revisions), []).append(version)
    if not versions:
        return "Nothing is kept."
    if len(versions) == 1 and len(next(iter(versions))) < 2:
        return f"All were judged by {_named(*next(iter(versions)))}."
    told = "; ".join(f"{', '.join(those)} by {_named(*revisions)}" for revisions, those in versions.items())
    return f"Not all were judged alike: {told}."


def _named(*revisions: str) -> str:
    named = " and ".join(f"`{revision}`" for revision in revisions)
    return f"catalogue {named}" if named else "a catalogue that was not written down"
