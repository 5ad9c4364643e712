from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.connection._credentials import given_in_order
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms

Connected = tuple[Frame, Frame | None]


def _connects(timeline: Timeline) -> Iterator[Connected]:
    """Yield every CONNECT of the only client, and the last command before it that carried credentials."""
    if len(timeline.events.invokes("open_client")) != 1 or not given_in_order(timeline):
        return
    before: Frame | None = None
    for frame in timeline.events.frames("CONNECT", "AUTH_RESPONSE"):
        if frame.from_sender:
            if frame.command == "CONNECT":
                yield frame, before
            before = frame


@check("connection.asks-supplier-each-time", of=_connects)
def asks_supplier_each_time(timeline: Timeline, connected: Connected) -> Says:
    """connection.asks-supplier-each-time: every CONNECT carries credentials that the supplier returned for it.

    A client may call the supplier more than once per CONNECT, so that any later token will do. Not judged where tokens
    repeat.
    """
    connect, before = connected
    given = [one for one in given_in_order(timeline) if one.data is not None]
    tokens = [(one.data or b"").hex() for one in given]
    if len(set(tokens)) != len(tokens):
        return
    yield Exercised(connect)
    data = _data_of(connect)
    if data not in tokens:
        came = "none" if not data else "others"
        text = f"connection {connect.conn}: expected the supplier's credentials in CONNECT at {ms(connect.t_ns)}; "
        text += f"it carries {came}"
        yield breach("no-credentials" if not data else "other-credentials", text, connect)
    elif before is not None and _is_repeated(tokens, data, _data_of(before)):
        text = f"connection {connect.conn}: CONNECT at {ms(connect.t_ns)} repeats credentials of an earlier CONNECT"
        yield breach("old-credentials", f"{text}; expected the supplier's next ones", before, connect)


def _is_repeated(tokens: list[str], data: str, before: str) -> bool:
    return before in tokens and tokens.index(data) <= tokens.index(before) < len(tokens) - 1


def _data_of(frame: Frame) -> str:
    """Return its data in hexadecimal, as it was written; empty where it has none."""
    fields = frame.fields.get("response", {}) if frame.command == "AUTH_RESPONSE" else frame.fields
    return str(fields.get("auth_data", ""))
