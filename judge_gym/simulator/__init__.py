"""The offline provider: a psychometric model of judges behind an OpenAI-compatible server.

It sees only prompts and never stands for a finding: its models are called `sim/...` and every
response says that it is simulated. `server` serves it, `launch` runs it beside a process,
`families` holds what is planted and `expected` what an estimator should therefore find.
"""
