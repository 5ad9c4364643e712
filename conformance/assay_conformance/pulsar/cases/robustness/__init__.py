"""Cases of the chapter robustness."""
