"""Flows: what runs in which order, what is waited for, what a failure means.

No SQL, no prompts, no maths. A flow plans what is missing and hands it to tasks in chunks.
"""
