"""Faults on demand: what a bad day of a provider looks like, seeded and counted.

`plan` says what can be asked for, `reading` reads it from a file, `injector` decides which
request meets which fault, and `spoiling` carries it out.
"""
