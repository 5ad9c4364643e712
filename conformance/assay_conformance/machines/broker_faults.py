"""Harm of a broker's own making: unsolicited frames, unreadable ones, and wrong statements.

What networks do to frames that are as they should be stands in `network_faults`.
"""

from __future__ import annotations

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import ANYTIME, LASTING, at
from assay_conformance.machines.parameters import CHUNKING_LIMIT_BYTES, LONGEST_WAIT_MS, OPERATION_TIMEOUT_MS
from assay_conformance.model.fault import (
    AnswerError,
    Corrupt,
    Cut,
    CutHow,
    Delay,
    Direction,
    Drop,
    Hold,
    Inject,
    Part,
    Resegment,
    Rewrite,
)
from assay_conformance.pulsar.cases.connection.requests import NEWS
from assay_conformance.pulsar.cases.robustness.malformed import COMMAND_TOO_LONG, NO_COMMAND, UNKNOWN_COMMAND

WITHOUT_END = 60
"""Redirects: three times what a client follows."""

STANDING_MS = LONGEST_WAIT_MS + 500
"""A refusal, or a silence, that outlasts every opening and any keep-alive that is configured to be short."""

_early = st.integers(1, 2)
_while_it_lasts = st.sampled_from((*[OPERATION_TIMEOUT_MS + 500] * 5, STANDING_MS))

_HEARD = ("SEND_RECEIPT", "MESSAGE", "PRODUCER_SUCCESS", "SUCCESS")
_ASKED = st.sampled_from((Inject(command="PING"), Inject(command="PING", before=True)))
_NEWS = st.sampled_from(
    (*(Inject(command=command, fields=fields) for command, fields in NEWS), Inject(raw=UNKNOWN_COMMAND))
)
_UNDECODABLE = st.sampled_from((Inject(raw=COMMAND_TOO_LONG), Inject(raw=NO_COMMAND)))
_SPOILT = st.just(Corrupt(part=Part.METADATA, fix_checksum=True))
_PIECES = st.sampled_from(tuple(Resegment(piece_bytes) for piece_bytes in (1, 2, 3)))
_FIRST_WORDS = st.sampled_from(
    (Rewrite({"max_message_size": CHUNKING_LIMIT_BYTES}), Resegment(piece_bytes=1), Resegment(piece_bytes=2))
)
"""A process whose client got another limit serves no other Case, and starting one is costly: few lives have it."""
_NOT_NOW = st.sampled_from(("ServiceNotReady", "TooManyRequests")).map(AnswerError)

_OPENING = ("PRODUCER", "SUBSCRIBE", "LOOKUP", "PARTITIONED_METADATA")
_HALF_OPEN = st.sampled_from([Cut(how=CutHow.BLACKHOLE, direction=direction) for direction in Direction])

_PATIENCE = st.one_of(
    at(_OPENING, _NOT_NOW, _early, _while_it_lasts, st.just(0)),
    at(("PRODUCER_SUCCESS", "SUCCESS"), st.just(Drop()), _early),
    at(_HEARD, _HALF_OPEN, ANYTIME, _while_it_lasts),
)
"""What a client waits for in vain, for as long as it waits for anything: few lives have the time."""

STRANGE = st.one_of(
    at(_HEARD, _ASKED),
    at(_HEARD, _NEWS),
    at(_HEARD, _UNDECODABLE),
    at(("MESSAGE",), _SPOILT),
    at(("CONNECTED",), _FIRST_WORDS, _early),
    at(("CONNECTED",), st.sampled_from((Delay(100), Hold())), _early),
    at(
        ("LOOKUP_RESPONSE",),
        st.just(Rewrite({"response": "Redirect"})),
        _early,
        LASTING,
        st.sampled_from((1, WITHOUT_END)),
    ),
    at(("CONNECTED", *_HEARD), _PIECES),
    at(_OPENING, _NOT_NOW, ANYTIME, st.just(500), st.just(3)),
    _PATIENCE,
)
