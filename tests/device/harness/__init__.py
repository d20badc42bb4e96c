"""What the suites share: pytest options, the event log, the rules for ids and outcomes, and comparing with the cpu.

Modules that need torch say so; the others import without it, so that they can be tested where there is none.
"""
