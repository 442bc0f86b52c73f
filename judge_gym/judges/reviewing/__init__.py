"""Reviews of judges in use: asked anew on a day, beside their last review and their alternatives.

- `cases`: what a review file comes to, judges and texts read
- `findings`: what the judgements say, keep or reconsider
- `writing`: from what is stored to rows and the page of the day
"""
