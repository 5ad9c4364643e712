"""How often a message is tried before it is given up.

When it comes with its maximum as redelivery count, the Java and C++ clients hand it over once more, and the Go and Rust
clients take it for a dead letter unseen: either way that is the last time.
"""

from __future__ import annotations

INDIVIDUAL = ("shared", "key_shared")
"""Types of subscription on which single messages are redelivered, and counted."""
