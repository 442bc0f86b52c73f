"""Asking models: what is asked, by which route, within which limits, and the ledger of it all."""

import os

# Before litellm is imported: it would fetch a price list, and in its development mode read .env.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
# What the openai package adds costs a third of a call
# (docs/decisions/0006-what-calls-and-commands-cost.md).
os.environ.setdefault("EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER", "true")
