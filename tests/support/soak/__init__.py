"""A soak: an installation at work through hours of faults, watched from outside.

- `clock`: a time zone whose clock changes while the soak runs
- `place`: the parts of the installation: started, killed and started again
- `faults`: what goes wrong when, drawn by a seed, and what `judge-gym doctor` says meanwhile
- `samples`: memory, connections, files and rows, every ten seconds
- `findings`: what was lost, paid twice, missed or grew
- `page`: charts and tables of it
- `story`: all of it in order
"""
