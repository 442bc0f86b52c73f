"""Prefect tasks: one call into `judge_gym` each, with retries, timeout, tags and cache policy.

Parameters are ids and small values, results are small counts; never a session, a client, a
secret or a frame. What a task learns is in the database when it returns.
"""
