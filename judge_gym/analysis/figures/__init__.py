"""Every family of figures, one module each; `judge_gym.analysis.registry` says what they hold."""
