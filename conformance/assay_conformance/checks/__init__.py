"""Checks by chapter, and what they share. `registry`: requirement id -> the check that judges it."""
