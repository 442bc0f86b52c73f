"""What each workflow does, without Prefect: plan the missing work, do a chunk of it.

Plans are read from the database, so the same call continues where the last one stopped. A chunk
takes ids and returns counts; everything it learns is in the database when it returns.
"""
