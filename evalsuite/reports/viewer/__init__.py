"""Local read-only viewer of suites, runs and comparisons in a browser.

`library` finds suites and runs on disk, `views` makes plain objects of them, `app` serves these as JSON and `pages` as HTML.
"""
