"""Checks of the chapter table-view."""
