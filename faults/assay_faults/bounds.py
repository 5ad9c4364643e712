"""Bounds of what this package reads and waits for, each with its unit and its reason."""

from __future__ import annotations

from typing import Final

MOST_ANSWER_BYTES: Final = 1 << 20
"""Of one answer of a toxiproxy server: it lists thousands of proxies in that."""

# --- cleaning up ------------------------------------------------------------------------------------------------------

REMOVED_WITHIN_S: Final = 5
"""For each step of removing what a killed run left: a lock, the end of a process that was killed, a deleted proxy."""

COMES_WITHIN_S: Final = 0.5
"""How long to look for what a dying process was about to start."""

REMOVED_BY_TOOL_S: Final = 60
"""For `ip` and the container engine's command, which wait for what they remove."""

UNNOTED_S: Final = 3.0
"""After the last look of a keeper that was killed: it looks every two seconds. What began then is not in its notes."""

MOST_NOTES_BYTES: Final = 4 << 20
"""Of the notes of a keeper: a line for each process that is alive."""

# --- disks ------------------------------------------------------------------------------------------------------------

MOUNT_WITHIN_S: Final = 30
"""For `mkfs` and `mount` of a small image."""

# --- networks ---------------------------------------------------------------------------------------------------------

NAMESPACE_BEGINS_S: Final = 10.0
"""For a thread to enter a network namespace of its own and set up its device."""

PROOF_DEADLINE_S: Final = 10.0
"""For bytes that were sent through the bench itself. A machine under load may stand still for seconds without the bench
being broken."""

OUTPUT_DEADLINE_S: Final = 0.2
"""For what was written before a connection is reset: the peer's kernel takes it in at once, unless its buffer is
full."""

SEEN_WITHIN_S: Final = 10.0
"""For what has to happen at once on a connection that a fault acts on; a busy machine takes its time."""

MOST_WAITING_BYTES: Final = 32 << 20
"""What faults may keep from leaving in one direction before its sender is read no more: beyond what a client keeps
pending by itself, and little enough for a bench."""

# --- processes --------------------------------------------------------------------------------------------------------

SIGNALLED_WITHIN_S: Final = 10.0
"""For what the kernel does at once with a signal, on a machine that may be busy."""

GRACE_S: Final = 30.0
"""For a process that is asked to end, and may tidy up first."""

KEEPER_ENDS_ALL_S: Final = 10.0
"""For the keeper to end all that it started, once its runner has gone; it leaves then."""

ORPHAN_ENDS_S: Final = 5.0
"""What outlives SIGKILL by so much sits in the kernel; the end of its program is reported without it."""

BEGINS_WITHIN_S: Final = 60.0
"""For one fork, on a machine that has no time or has stopped: no answer by then is a keeper that is stuck."""

KEEPER_LEAVES_WITHIN_S: Final = 12.0
"""For the keeper to end with all that it started, before it is killed: a little more than it takes itself
(KEEPER_ENDS_ALL_S)."""

KEEPER_LET_GO_S: Final = 2.0
"""The same for a process that is about to end in any case: the keeper goes on without it."""

KILLED_TOOL_ENDS_S: Final = 10.0
"""For the end of a tool that was killed, and of all that it started."""

MOST_PRINTED_BYTES: Final = 16 << 20
"""Of what a tool printed; more is not read."""

# --- toxiproxy --------------------------------------------------------------------------------------------------------

TOXIPROXY_ANSWER_S: Final = 10.0
"""For one answer of its API, which is on this machine."""

TOXIPROXY_READY_S: Final = 10.0
"""For its start: one binary that listens at once."""
