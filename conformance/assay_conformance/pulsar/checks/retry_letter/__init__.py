"""Retry letters: whole copies, and originals acknowledged once their copies are stored."""
