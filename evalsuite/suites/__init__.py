"""Suites and runs by name: Arthur Bench's interface to gold folders and run folders.

A suite is a gold folder in `.evalsuite/suites/<slug>/gold`; a run of it has a submission folder and a run folder next to it, so everything
that reads gold and runs works on suites too.
"""
