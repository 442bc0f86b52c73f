"""Fault injection: rate limits, errors and broken answers on demand, seeded and counted.

A plan is a TOML file, or the same keys as JSON sent to `POST /faults` while it runs:

    seed = 7

    [[fault]]                # one request in twenty; a retry is drawn again
    kind = "rate_limit"
    share = 0.05
    retry_after = 2
    form = "date"

    [[fault]]                # one scorer's prompt in a hundred, however often it is sent
    kind = "malformed_verdict"
    share = 0.01
    sticky = true

    [[fault]]                # the first two batches
    kind = "batch_expired"
    max_count = 2

    [[fault]]                # one news page in five is missing, at every attempt
    kind = "page_failed"
    share = 0.2
    sticky = true

`plan` lists the kinds and their fields, `reading` reads a plan, and `injection` decides which
request meets which fault and carries it out.
"""
