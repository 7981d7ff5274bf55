"""Plan, execute, summarise, save: what happens between two folders and a run.

`scoring.run` is that line. `handed_in` reads the submission in a worker, `plan` makes tasks, `databases`, `living_gold` and `sql_answers`
run statements, `judged` asks models, `score_cache` knows verdicts, `forensics` notes how answers were made, `corrected` applies errata.
`shards` and `rescoring` score a part, or again; `entries` scores many submissions for a board.
"""
