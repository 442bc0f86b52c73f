"""The offline provider: planted judges behind a server of several vendors' APIs.

It sees only prompts: of judge_gym it imports `planted`, `seeds` and `errors`, and only deployments
start it. Its models are called `sim/...` and every response is marked as simulated: its answers
are no evidence about real models.

`launch` runs it beside a process and `server` serves it. `answering` turns a request into an
answer: `prompts` reads the request, `verdicts`, `rubrics`, `grading` and `editing` write. `chat`
and `vendors` are the formats of the APIs, `batches` and `news` further routes, `faults` what goes
wrong on demand.
"""
