"""Bringing a judge nearer to people: candidates from training mistakes, a choice, a sealed test.

Labelled texts have three parts. Candidates are made from mistakes in training, one is chosen on
development by its agreement with people, and the test set is opened for that one only. Each look
at a test set is stored.
"""
