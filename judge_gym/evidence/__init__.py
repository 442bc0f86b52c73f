"""Collecting the documents of a window: sources, screening, cleaning and source tiers.

Returns plain values and never writes them anywhere; the caller persists.
"""
