"""Harm of networks, and of brokers that are busy: frames that are as they should be are lost, late, torn or refused.

What a broker makes up stands in `strange`. How long a drawn Delay or pause is decides no verdict: checks ask what
crossed, in which order, and never how long something was meant to be kept back.
"""

from __future__ import annotations

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import COMMON, LASTING, Strategy, at
from assay_conformance.model.fault import (
    AnswerError,
    Corrupt,
    Cut,
    CutHow,
    Delay,
    Drop,
    Duplicate,
    Hold,
    Resegment,
    Rewrite,
)
from assay_conformance.pulsar.outcomes.requests import ERRORS

_ends = st.sampled_from((Cut(), Cut(before=True), Cut(abrupt=True), Cut(how=CutHow.FIN), Cut(how=CutHow.BLACKHOLE)))
_cuts = st.sampled_from(
    (Cut(), Cut(before=True), Cut(abrupt=True), Cut(how=CutHow.FIN), Cut(how=CutHow.BLACKHOLE), Hold(), Delay(20))
)
ANYWHERE = at(tuple(COMMON), _cuts)
# These name what they are for: most frames may neither be lost nor come twice without the connection dying of it.
TORN = at(
    ("SEND", "SEND_RECEIPT", "MESSAGE"),
    st.sampled_from((Drop(), Duplicate(), Hold(overtake=True), Delay(50, overtake=True), Corrupt(), Resegment(7))),
)
_USUAL_ERRORS = ("ServiceNotReady", "PersistenceError", "TooManyRequests", "NotAllowedError", "TopicTerminatedError")
_ANY_ERROR = st.sampled_from((*_USUAL_ERRORS * 10, *ERRORS)).map(AnswerError)
"""Any of the protocol: two thirds of them the usual ones."""
REFUSED = at(
    (*("SEND", "PRODUCER", "SUBSCRIBE", "LOOKUP") * 4, "PARTITIONED_METADATA", "ACK", "CLOSE_PRODUCER"), _ANY_ERROR
)
HARMS = st.one_of(ANYWHERE, TORN, REFUSED)


def cut_at(*commands: str) -> Strategy:
    """Return a strategy of a connection that ends, or is slow, at one of these frames."""
    return at(commands, st.one_of(_ends, _cuts))


def lost_or_late(*commands: str) -> Strategy:
    """Return a strategy in which one of these frames is lost, late, or comes twice; the connection lives on."""
    return at(commands, st.sampled_from((Drop(), Hold(), Delay(50), Duplicate())))


def unanswered(*commands: str) -> Strategy:
    """Return a strategy in which one of these requests does not end well.

    It is refused now or for good, lost, late, or its connection ends.
    """
    return st.one_of(
        at(commands, _ANY_ERROR, times=st.sampled_from((1, 1, 3))),
        at(commands, st.sampled_from((Drop(), Hold(), Delay(50)))),
        at(commands, _ends),
    )


LOST_ACKS = lost_or_late("ACK", "ACK_RESPONSE")


def any_of(*harms: Strategy) -> Strategy:
    """Return a strategy of each of these alone."""
    return st.tuples(st.one_of(*harms))


ONE_HARM = any_of(HARMS)

_RETURN_ERRORS = (
    "ServiceNotReady",
    "TooManyRequests",
    "ProducerBusy",
    "ProducerBlockedQuotaExceededError",
    "ProducerBlockedQuotaExceededException",
    "ProducerFenced",
    "TopicNotFound",
    "TopicTerminatedError",
)
_HALF_A_SECOND, _AT_THE_RETURN = st.just(500), st.just(2)
LOST = at(("SEND", "SEND_RECEIPT"), _ends, after_ms=_HALF_A_SECOND)
OUTAGE = st.tuples(
    at(
        ("SEND", "SEND_RECEIPT", "MESSAGE"),
        st.sampled_from((Cut(), Cut(before=True))),
        after_ms=st.just(100),
        away_ms=LASTING,
    )
)
REFUSED_RETURN = st.tuples(
    LOST,
    at(
        ("PRODUCER",),
        st.sampled_from((*_RETURN_ERRORS * 3, *ERRORS)).map(AnswerError),
        _AT_THE_RETURN,
        st.just(2_000),
        st.sampled_from((1, 4)),
    ),
    at(("SEND_RECEIPT",), st.just(Cut()), st.integers(6, 10)),
)
SLOW_RETURN = st.tuples(
    LOST, at(("PRODUCER", "PRODUCER_SUCCESS"), st.sampled_from((Hold(), Hold(overtake=True))), _AT_THE_RETURN)
)
ANOTHER_RANGE = st.tuples(at(("SEND_RECEIPT",), st.just(Rewrite({"highest_sequence_id": 1_000}))))
OLD_IDS = at(("SEND",), st.just(Rewrite({"sequence_id": 0, "metadata.sequence_id": 0})), st.integers(2, 4))
"""A batch that begins with what is stored, as that of a client that puts old and new messages into one."""
CALLED_MARKER = at(
    ("SEND",),
    st.just(Rewrite({"sequence_id": 0, "highest_sequence_id": 0, "marker": True})),
    st.integers(2, 4),
)
"""What brokers send among themselves, with an id that is stored."""
NO_RECEIPTS = st.tuples(at(("SEND_RECEIPT",), st.just(Drop()), times=st.just(0)))
UNHARMED = st.just(())
