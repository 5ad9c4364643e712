"""Topics: their owners and partitions change, and no message is lost by that."""
