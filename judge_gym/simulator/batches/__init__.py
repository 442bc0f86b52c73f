"""`/v1/files` and `/v1/batches` in OpenAI's formats.

A batch is answered when it is created; its state is then a function of the time since, so that
nothing runs in the background. `batch` is that function, `routes` stores and serves.
"""
