"""Kinds of study of judges: what each reads, asks and reports; flows and commands run them."""

from judge_gym.studies.study import Study

__all__ = ["Study"]
