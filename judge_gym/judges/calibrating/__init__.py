"""Calibration: change the texts, have them judged, and say what the judges can tell apart.

- `texts`: the originals and what was made of them
- `perturbing`: what models make of them, where the file asks for it
- `judging`: what is still to be judged, and what came of it
- `assessing`: the checks, from scores alone
"""
