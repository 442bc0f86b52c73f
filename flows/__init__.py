"""Flows: what runs in which order, what is waited for, what a failure means.

No SQL, no prompts, no maths. A flow plans what is missing and hands it to tasks in chunks.
"""

from judge_gym.collecting import collect_rarely

# The process of a deployment's flow run imports this first of all that is judge-gym's.
collect_rarely()
