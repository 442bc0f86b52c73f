"""The offline provider: planted judges behind a server of several vendors' APIs.

It sees only prompts: of judge_gym it imports `planted`, `seeds` and `errors`, and only deployments
start it. Its models are called `sim/...`, or `sim-gemini/...` for Gemini's API, and every response
is marked as simulated: its answers are no evidence about real models.

`launch` runs it beside a process and `server` serves it. `answering` turns a request into an
answer: `prompts` reads the request, `verdicts`, `rubrics`, `grading` and `editing` write. `vendors`
are the APIs, each with its own format, which read and write a `chat`; `batches` and `news` are
further routes, `faults` what goes wrong on demand.
"""
