"""Robustness: damaged and unusual input costs no more than itself, and every operation ends."""
