"""What a client's supplier of credentials gives, in order, as the Case has it."""

from __future__ import annotations

from assay_conformance.model.credentials import Supplied, supplied
from assay_conformance.pulsar.timeline import Timeline


def given_in_order(timeline: Timeline) -> tuple[Supplied, ...]:
    """Return the credentials in order; nothing where there is no authentication."""
    credentials = timeline.view.setting("client", "credentials")
    if credentials:
        return supplied(str(credentials))
    tokens = timeline.view.setting("client", "tokens")
    return tuple(Supplied(data=token.encode()) for token in str(tokens).split(",")) if tokens else ()


def last_given(timeline: Timeline) -> bytes:
    """Return the last credentials, which stay; empty where there are none."""
    return next((one.data for one in reversed(given_in_order(timeline)) if one.data is not None), b"")
