"""What the suites share: pytest options, the event log, the rules for ids and outcomes, and comparing with the cpu.

Modules that need torch have that in their docstring; the others import without it, so they can be tested without.
"""
