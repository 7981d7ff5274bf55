"""Runs: plan, execute, summarise and save the scoring of one submission, and read saved runs.

`scoring.run` is the entry point. `submission_reader` reads the submission in a worker, `plan` makes tasks, `databases` and `gold_queries`
run statements, `batch_scoring` asks models, `score_cache` skips known verdicts, `task_execution` scores one answer, `corrected_scores`
applies errata and human labels. `rescoring` scores again and merges shards; `leaderboard_entries` scores many submissions; `history` finds
saved runs.
"""

# Modules that a run's command and its workers import: the command imports them before it forks its fork server.
SHARED_MODULES = (
    "bisect",
    "hashlib",
    "msgspec.msgpack",
    "evalsuite.sandbox.worker_main",
    "evalsuite.runs.run_files",
    "evalsuite.runs.instance_checks",
    "evalsuite.readers.json_text",
    "evalsuite.gold.original",
)
# Modules that workers of nearly every run import, so the fork server imports them once. The codec reads files that may begin with a byte
# order mark.
WORKER_MODULES = (
    *SHARED_MODULES,
    "encodings.utf_8_sig",
    "evalsuite.readers.load_answer",
    "evalsuite.sandbox.payloads",
    "evalsuite.runs.task_execution",
    "evalsuite.runs.answer_workers",
)
