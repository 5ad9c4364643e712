"""What the errors of a broker say about another attempt. The other errors end what was asked for, in one client or
another."""

from __future__ import annotations

from typing import Final

BUSY: Final = frozenset({"ServiceNotReady", "TooManyRequests"})
"""In a lookup: this broker is not to be asked just now. Clients may end the connection over them: the C++ one over
either, and the Java one over the first, or over many of the second (`checkServerError` in both)."""

PASSING_ERRORS: Final = frozenset({"ProducerBusy", "ServiceNotReady", "ProducerBlockedQuotaExceededError"})
"""To a PRODUCER: the broker opens or unloads the topic, has not noticed yet that the previous connection is gone, or
lets a producer wait because of a backlog quota."""

PASSING_FOR_CONSUMERS: Final = frozenset({"ServiceNotReady", "ConsumerBusy"})
"""The same to a SUBSCRIBE."""

TRANSIENT: Final = frozenset({"PersistenceError", "MetadataError", "UnknownError"})
"""To a SEND: the broker cannot write it just now, and its client sends it again."""

RESENT_AFTER: Final = TRANSIENT | {"ChecksumError", "ServiceNotReady"}
"""To a SEND: its client sends it again, on this connection or the next one."""

TEMPORARY: Final = BUSY | RESENT_AFTER
"""To any request: a retry may succeed."""

FINAL_ERRORS: Final = frozenset({"TopicTerminatedError", "ProducerFenced"})
"""To a producer: it sends no more. Consumers of a terminated topic may be tried again."""
