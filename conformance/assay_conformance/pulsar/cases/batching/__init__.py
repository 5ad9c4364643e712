"""Cases of the chapter batching."""
