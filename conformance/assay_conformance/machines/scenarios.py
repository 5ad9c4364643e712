"""Calls, and scenes: calls that go together, because one alone shows little.

Strategies draw plain lists, never a length first, and filter nothing; those shapes reduce to the minimum.
"""

from __future__ import annotations

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import Strategy
from assay_conformance.machines.foreign_entries import FINDS
from assay_conformance.machines.operations import BESIDES, Act, Operation
from assay_conformance.machines.parameters import SIZES

# --- calls ------------------------------------------------------------------------------------------------------------

NUMBERS = st.integers(0, 5)
FEW = st.integers(1, 3)
TIMES = st.integers(1, 5)
SMALL = st.integers(0, 3)
"""Sizes of which a message is one chunk."""
SYNC = st.booleans()

_UNSAID = {name: st.just(default) for name, default in Act._field_defaults.items()}
"""Hypothesis would draw anything at all for what is left out of a tuple with names."""


def call(do: Operation | Strategy, **said: Strategy) -> Strategy:
    what = do if isinstance(do, st.SearchStrategy) else st.just(do)
    return st.builds(Act, what, **{**_UNSAID, **said})


def sends(who: Strategy = NUMBERS, times: Strategy = TIMES, size: Strategy = NUMBERS, **said: Strategy) -> Strategy:
    return call(Operation.SEND, who=who, number=times, size=size, **said)


def one_of(*calls: Operation) -> Strategy:
    return st.tuples(call(st.sampled_from(calls), who=NUMBERS, number=TIMES, size=NUMBERS))


SENDS = sends(size=st.integers(0, len(SIZES) - 1), key=NUMBERS, delay=NUMBERS, sync=SYNC, besides=NUMBERS)
RECEIVES = call(Operation.RECEIVE, who=NUMBERS, number=TIMES)
NACKS = call(Operation.NACK, who=NUMBERS, number=TIMES)
PAUSES = call(Operation.PAUSE, number=NUMBERS)
_calls = call(
    st.sampled_from(Operation),
    who=NUMBERS,
    number=TIMES,
    size=NUMBERS,
    key=NUMBERS,
    delay=NUMBERS,
    sync=SYNC,
    besides=NUMBERS,
)
_settles = call(
    st.sampled_from((Operation.ACK, Operation.ACK_ONE, Operation.ACK_UP_TO, Operation.NACK)), who=NUMBERS, number=TIMES
)

# --- messages on their way --------------------------------------------------------------------------------------------

SEND = st.tuples(SENDS)
SEND_AND_RECEIVE = st.tuples(SENDS, RECEIVES)
SETTLED = st.tuples(SENDS, RECEIVES, _settles)
SETTLED_AFTER_ALL = st.tuples(SENDS, RECEIVES, _settles, PAUSES, _settles)
ANY = st.one_of(SEND, st.tuples(_calls), SEND_AND_RECEIVE, SETTLED, SETTLED_AFTER_ALL)
"""A call, or messages on their way to being settled, in the end after all."""

# Several messages that are settled by one call.
_several = sends(times=st.integers(3, 5), size=SMALL)
_takes_them = call(Operation.RECEIVE, who=NUMBERS, number=st.just(5))
GROUPED = st.tuples(_several, _takes_them, call(Operation.ACK, who=NUMBERS))
REFUSED_TOGETHER = st.tuples(_several, _takes_them, call(Operation.NACK_ALL, who=NUMBERS), PAUSES, RECEIVES)

# What is sent around whatever happens meanwhile, and who goes while it does.
ACROSS = st.tuples(SENDS, PAUSES, SENDS)
LEAVES = st.tuples(SENDS, PAUSES, call(Operation.CLOSE_PRODUCER, who=NUMBERS))
REFUSED = st.tuples(RECEIVES, NACKS, PAUSES)
_goes = call(
    st.sampled_from((Operation.CLOSE_CONSUMER, Operation.CLOSE_CONSUMER, Operation.UNSUBSCRIBE)),
    who=NUMBERS,
    number=TIMES,
)
NEXT_CONSUMER = st.tuples(_goes, SENDS, call(Operation.OPEN_CONSUMER, who=NUMBERS))
LARGE_SEND = st.tuples(sends(times=st.integers(1, 2), size=st.integers(3, 5)))

# --- around them ------------------------------------------------------------------------------------------------------

AWAY = one_of(Operation.UNLOAD, Operation.RESTART, Operation.MOVE, Operation.REOPEN_PRODUCER, Operation.RESTART_CLIENT)
LINGER = one_of(Operation.LINGER)
MIGRATED = st.tuples(SENDS, call(Operation.MIGRATE), SENDS, RECEIVES)
STARTED_ANEW = st.tuples(SENDS, PAUSES, call(Operation.RESTART, number=FEW), SENDS, PAUSES)
"""Messages have their receipts, and most were not read, when the broker dies."""

# Who is there, and where, changes in the middle of what is sent and received.
COMPANY = tuple(
    st.tuples(
        call(Operation.OPEN_CONSUMER, who=NUMBERS, number=NUMBERS),
        call(Operation.OPEN_PRODUCER, who=NUMBERS, number=TIMES, size=NUMBERS),
        *(SENDS,) * times,
        RECEIVES,
        RECEIVES,
    )
    for times in (1, 1, 1, 2)
)
"""Several, for the share that it has: of strategies that are one and the same Hypothesis counts one."""

ELSEWHERE = tuple(st.tuples(SENDS, call(do), SENDS, RECEIVES) for do in (Operation.MOVE, Operation.MIGRATE))
REOPENED = tuple(
    st.tuples(SENDS, call(do, number=FEW), SENDS, RECEIVES)
    for do in (Operation.RESTART, Operation.RESTART_CLIENT, Operation.KILL_CLIENT)
)

_hold, _release = call(Operation.HOLD_STORE), call(Operation.RELEASE_STORE)
SLOW_STORE = st.tuples(_hold, SENDS, PAUSES, _release)
FAILING_STORE = st.tuples(_hold, SENDS, call(Operation.FAIL_STORE))
FULL_STORE = st.tuples(_hold, SENDS, SENDS, PAUSES, _release)

# --- what few lives have ----------------------------------------------------------------------------------------------

_keyed = sends(st.just(0), st.just(1), st.just(3), key=NUMBERS)
_KEYS_IN_TURN = st.tuples(_keyed, _keyed, _keyed, _keyed, _keyed)
_flushes = call(Operation.FLUSH, who=NUMBERS)
_FLUSHED_TWICE = st.tuples(_hold, SENDS, _flushes, _flushes, PAUSES)
_FOUND = st.tuples(call(Operation.FIND, who=NUMBERS, number=st.integers(0, len(FINDS) - 1)), RECEIVES)
_SIDE_BY_SIDE = st.tuples(
    call(Operation.OPEN_PRODUCER, who=NUMBERS, number=TIMES, size=NUMBERS),
    call(Operation.SEND_BY_ALL, who=NUMBERS, number=TIMES, size=NUMBERS, key=NUMBERS, besides=NUMBERS),
)
_trickles = sends(times=FEW, size=SMALL, besides=NUMBERS)
_short_pauses = call(Operation.PAUSE, number=st.integers(0, 1))
_TRICKLE = st.builds(lambda send, pause, times: (send, pause) * times, _trickles, _short_pauses, st.integers(3, 7))
_SAYS_MUCH = st.tuples(sends(times=st.just(1), size=SMALL, besides=st.just(len(BESIDES) - 1)), RECEIVES)
_CALLS_BACK = st.tuples(
    call(Operation.SEND_IN_CALLBACK, who=NUMBERS, number=st.integers(1, 3), size=NUMBERS, key=NUMBERS), RECEIVES
)
SELDOM = st.one_of(_KEYS_IN_TURN, _FLUSHED_TWICE, _FOUND, _SIDE_BY_SIDE, _TRICKLE, _SAYS_MUCH, _CALLS_BACK)
