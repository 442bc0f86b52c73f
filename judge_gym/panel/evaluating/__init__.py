"""Does a panel help? Its raters, ways to pool them and its arbiter on documents of known score.

- `labelled`: documents with their true scores, from a file
- `planning`: what having it review them will use
- `reviewing`: having the panel review them all, and what each review cost
- `figures`: what is right, whose errors go together, what a second family adds; pure
- `escalating`: whom to ask first, and when to ask one more; pure
- `evaluation`: all of it of one panel and one labelled set
"""
