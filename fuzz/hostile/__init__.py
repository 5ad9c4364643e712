"""Hostile input at every door of the suite: structure-aware generators, one oracle for all of them."""
