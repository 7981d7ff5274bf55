"""The local viewer: suites, runs and what they compare to, read from run folders and shown in a browser; nothing is ever written.

`library` finds suites and runs on disk, `views` makes plain objects of them, `api` serves those as JSON and `pages` as HTML.
"""
