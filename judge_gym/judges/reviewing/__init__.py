"""Reviews of judges in use: judged anew on a day, beside their last review and alternatives.

- `cases`: what a review file comes to, judges and texts read
- `findings`: what the judgements say, keep or reconsider, and the rows that hold it
"""
