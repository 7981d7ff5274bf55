"""Suites and runs by name: Arthur Bench's face over gold folders and run folders.

A suite is a gold folder in `.evalsuite/suites/<slug>/gold`, a run of it a submission folder and a run folder beside it, so everything
that reads gold and runs works on suites too.
"""
