"""Results for people: one HTML page, tables for the terminal, Markdown and CSV.

Nothing here estimates: every figure comes from the analysis, the judges or the store.

- `page`: the report of a sweep; `facts`, `evidence`, `findings`, `headlines` and `planted` fill
  it, `plots` draws
- `tables`: the figures of `judge_gym.analysis.registry` as tables; `questions` sorts them
- `table`: a table for every surface; `remarks`: the sentence of every caution
- `calibration`, `benchmark`, `judge_review`, `gym`, `panel`: the pages of judges, gyms and panels;
  `criteria` shows what a judge is asked
- `markdown`: the pages in Markdown; `files`: how files are written
"""
