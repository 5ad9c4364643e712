"""Real processes: who they are, what state they are in, and what is done to them."""
