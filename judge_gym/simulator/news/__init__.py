"""News search on loopback: as much of Firecrawl's v2 API as a news window needs.

`archive` finds articles of a corpus by date and words, `routes` speaks the API, and `faults` says
what can go wrong. Nothing is ever fetched: a page is an article of the corpus or it is unknown.
What is served carries the simulator's mark in its scrape id, so that its evidence is marked too.
"""
