"""Whose fault it is: the four families of trouble that are not a verdict about the client.

The peer's misbehaviour on the wire is `wire.ProtocolError`; it never ends a run. What ends a run, or a part of it,
is one of these, and each carries its own exit code (architecture: 2 usage, 3 unavailable, 4 ours).
"""

from __future__ import annotations

import errno
from typing import Final


class AssayError(Exception):
    """One sentence for a person, and the exit code of the process that has to give up because of it."""

    exit_code = 4


class UsageError(AssayError):
    """Wrong input or configuration. The sentence names the file, the key and what was expected."""

    exit_code = 2


class UnavailableError(AssayError):
    """A version or means that was asked for by name cannot be had here."""

    exit_code = 3


class HarnessError(AssayError):
    """Our own trouble: a bug, a full disk, a port taken. Never counts against a client."""

    exit_code = 4


class PeerError(HarnessError):
    """A broker, an administrator or a repository that we talk to ourselves answered what none answers. Nothing is known
    of the client then, and there is nothing of ours to mend: the sentence says who answered, what was expected, and
    what came."""

    exit_code = 3


MACHINE_FAILS: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
)
"""Errors of the system that are not about the file in question: no descriptors, memory or disk left."""


def cause_of(error: BaseException) -> str:
    """Return the message of the first error of a chain: libraries wrap the one that says what happened."""
    cause = error
    while cause.__context__ is not None:
        cause = cause.__context__
    return str(getattr(cause, "strerror", None) or cause).strip()


class AgentError(AssayError):
    """The agent, or the client inside it, died, hung or spoke nonsense. A verdict about it, never a crash of ours."""

    exit_code = 1
