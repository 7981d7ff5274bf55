"""Walls around processes that meet hostile work: every one only takes away, and what a system lacks is left out and named.

`worker_walls.lock_in` is what a worker does before it reads anything: limits on memory, files and threads, namespaces of its own
(`namespaces`), the paths that it may read (`landlock`), the calls that it may make of the kernel (`seccomp`). It names those that
stand, which a run's receipt keeps; `evalsuite doctor` lists them with what each keeps from whom, and a test probes every one from inside.
`jail` is for programs that are themselves the answer: all walls or none, round two processes that `jail_start` makes.
`jailed_program` runs the program, `jailed_test` holds the asserts, and `program_channel` is what they say to each other: data
(`program_values`) and numbers that stand for objects (`program_objects`, `program_proxies`).
`scratch` is where files are made for a run, swept after one that was killed; `job_object` is what
Windows has of all this.
"""
