"""The report's plots.

- `content`: what each plot of a sweep shows, as tidy rows, from values of the analysis
- `charts`, `charts_of_verdicts`: pure functions from tidy rows to altair charts, for the report
  and for notebooks
- `style`: their colours, letters and sizes
- `svg`: a chart as a part of the page

Only the charts and `style` import altair: rows can be read without it.
"""
