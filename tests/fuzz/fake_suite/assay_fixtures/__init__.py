"""Stands in the place of the suite where the fuzzer's own oracle is tested."""
