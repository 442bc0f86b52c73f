"""`/v1/files` and `/v1/batches` in OpenAI's shapes.

A batch is answered when it is created; what a client sees of it is then a function of the time
since, so that nothing runs in the background. `record` is that function, `lines` answers,
`store` keeps, `routes` serves.
"""
