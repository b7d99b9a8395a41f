"""Deciding recorded commands again: their records made commands, on states folded from the events.

`records` reads what is recorded of a command, `kinds` says which class it is and makes it anew,
`states` holds what it is decided on, as it was before its events.
"""
