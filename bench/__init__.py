"""Measurements of the cost of a call and of each layer. Nothing here is asserted.

`python -m bench.gateway_vs_inspect`, `.growth`, `.rerun`, `.prefect_share`, `.profile_gateway`
and `.belief` each print a table. Trust ratios within one run, not absolute times.
"""
