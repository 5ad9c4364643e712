"""By which catalogue what is kept of several versions was judged: a clause or a check may have changed since."""

from __future__ import annotations

from collections.abc import Mapping

UNKNOWN = ""


def sentence(catalogues: Mapping[str, str]) -> str:
    """Version -> revision of the catalogue (UNKNOWN: it was not written down)."""
    versions: dict[str, list[str]] = {}
    for version, revision in catalogues.items():
        versions.setdefault(revision, []).append(version)
    if not versions:
        return "Nothing is kept."
    if len(versions) == 1:
        return f"All were judged by {_named(*versions)}."
    told = "; ".join(f"{', '.join(those)} by {_named(revision)}" for revision, those in versions.items())
    return f"Not all were judged alike: {told}."


def _named(revision: str) -> str:
    return f"catalogue `{revision}`" if revision else "a catalogue that was not written down"
