"""From a team's own producer and consumer logs to a ledger, as a small TOML file says."""
