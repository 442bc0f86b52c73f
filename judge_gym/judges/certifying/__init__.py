"""Certificates: what people's labels show of a judge, for which use, about which texts, until when.

`judge certify` judges labelled texts and writes a certificate (`certificate`) with the evidence
beside it (`evidence`). Its figures come of the evidence alone (`findings`), so that `judge
certificate verify` recomputes them without a database or a model (`verifying`). What relies on a
judge asks `checking` whether its certificate holds.
"""
