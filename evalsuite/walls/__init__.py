"""Walls around processes that meet hostile work: every one only takes away, and what a system lacks is left out and named."""
