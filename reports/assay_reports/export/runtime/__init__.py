"""What exported scripts are made of beside their own schedule, in pieces.

A piece is whatever stands at the top level of these modules: a function, a class, a constant. A script gets a copy of
those it uses, and of those that they use, so each needs pulsar-client and the standard library alone.
tests/real/test_exported_scripts.py reports what no script uses.
"""
