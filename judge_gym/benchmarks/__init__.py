"""Known-answer benchmarks: reading their files by a mapping, and what a judge gets right of them.

Values only: nothing here calls a model or a database. Example mappings stand in
`deployments/benchmarks`.
"""
