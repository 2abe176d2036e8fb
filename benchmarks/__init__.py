"""Measurements that stand behind the claims on speed; `python -m benchmarks --help`. Not part of the tests."""
