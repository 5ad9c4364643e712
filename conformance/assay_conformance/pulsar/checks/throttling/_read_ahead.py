"""What a broker may have read before it stops reading a connection."""

from __future__ import annotations

READ_AHEAD_BYTES = 256 * 1024
"""What a broker may have read from a socket before it stops reading."""

SEEN_AHEAD_BYTES = 2 * READ_AHEAD_BYTES
"""What the bench may have seen of a connection that its broker has stopped reading: as much as sockets hold, and what
came with the last of that in one read."""
