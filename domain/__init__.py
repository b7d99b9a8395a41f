"""The rules: events, states and decisions. Pure: no input or output, no clock, no randomness."""
