"""The engine: questions to models become calls, answers, and rows."""
