"""Plan, execute, summarise, save: what happens between two folders and a run.

`scoring.run` is that line. `handed_in` reads the submission in a worker, `plan` makes tasks, `databases`, `living_gold` and `sql_answers`
run statements, `judged` asks models, `score_cache` knows verdicts, `forensics` notes how answers were made, `corrected` applies errata.
`shards` and `rescoring` score a part, or again; `entries` scores many submissions for a board.
"""

# What a worker of nearly every run imports; its fork server imports it once. The codec reads files that may begin with a byte order mark.
WORKER_MODULES = (
    "msgspec.msgpack",
    "encodings.utf_8_sig",
    "evalsuite.readers.load_answer",
    "evalsuite.runs.run_files",
    "evalsuite.sandbox.payloads",
    "evalsuite.sandbox.serialization",
    "evalsuite.runs.task_execution",
    "evalsuite.runs.answer_workers",
)
