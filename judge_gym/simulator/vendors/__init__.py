"""Stand-ins for vendors' models, which refuse what the real ones refuse.

`openai` holds what OpenAI's reasoning models refuse, `anthropic` speaks the Messages API and
`gemini` generateContent. The judge families answer through each; `thinking` says how long a model
thinks first. What is refused, and in which words, comes from the vendors' documentation and from
errors that people reported; it shares nothing with what judge-gym takes models to refuse.
"""
