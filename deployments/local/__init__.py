"""A whole installation on one machine: PostgreSQL, Prefect's server, a worker, the simulator."""
