"""Patterns for every length: windows, factorised ones, global tokens, hypercubes, random keys, and combinations."""
