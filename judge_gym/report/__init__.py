"""Results for people: tables for the terminal and one HTML page, from what the analysis stored.

Nothing here computes a metric; what a simulator should have given is compared in `planted`.
"""
