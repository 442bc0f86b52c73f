"""Batches: calls that go to a provider together and are answered within a day.

`policy` decides how many calls go. `openai` and `anthropic` speak to the providers, each as a
`clients.BatchClient`, and `submitting` uses them so that a client can be killed at any moment and
no call is sent or lost twice. The rows are in `judge_gym.store.batches`. See
docs/decisions/0008-batches.md.
"""
