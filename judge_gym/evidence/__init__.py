"""Collects the documents of a window: sources, screening, cleaning and source tiers.

Returns plain values and stores nothing.
"""
