"""judge-gym for programs that speak the Model Context Protocol: the same verbs as the commands.

Reading happens in the server's process. Whatever writes or spends is the command itself, run as
a process, so that a program can do nothing that a person at a terminal cannot.
"""
