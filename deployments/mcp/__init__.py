"""judge-gym for agents that speak the Model Context Protocol: the commands as tools.

Tools that read run in the server's process. Tools that write or spend run the command itself as a
process, so that an agent can do nothing that a person at a terminal cannot.
"""
