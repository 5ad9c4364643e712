"""Robustness: damaged and odd input costs no more than itself, and every operation ends."""
