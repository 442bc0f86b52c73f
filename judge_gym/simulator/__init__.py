"""The offline provider: a psychometric model of judges behind a server of several vendors' APIs.

It sees only prompts and never stands for a finding: its models are called `sim/...` and every
response says that it is simulated. `server` serves it, `launch` runs it beside a process,
`vendors` holds what real models refuse, `families` what is planted and `expected` what an
estimator should therefore find.
"""
