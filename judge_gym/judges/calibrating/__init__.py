"""Calibration: change the texts, have them judged, and estimate what the judges can tell apart.

- `texts`: the originals and what was made of them
- `perturbing`: what models make of them, where the file asks for it
- `judging`: what is still to be judged, and what came of it
- `assessing`: the checks of one judge and of several, from scores alone
- `estimating`: from what is stored to everything that is estimated, with what a second judge costs
- `comparing`: one judge beside another, or beside labels, without a calibration
"""
