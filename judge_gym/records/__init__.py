"""The plain frozen values that travel between rooms: calls, items, judgements."""
