"""Sandbox for processes that handle untrusted input: start them, limit them, talk to them.

The caller passes the function to run; this package knows nothing about what is scored.

- `fork_server` and `worker_main` start workers; `worker_sandbox.enter_sandbox` is the first thing that a worker does. It sets limits on
  memory, files and threads, enters namespaces, and restricts file access (Landlock) and system calls (seccomp), all in `linux_layers`
  (`limits` on Windows). It only takes rights away. It returns the names of the active features, which a run's receipt records; a
  feature that the system lacks is left out. `evalsuite doctor` lists them, and a test probes each one from inside.
- `messages` is the protocol between the parent and its workers: `rpc_client` calls functions, `worker_main` serves the calls, `payloads`
  encodes what one worker sends to another.
- `program_sandbox` runs submitted programs: every feature or none, around two processes that `program_start` creates. `program_runner`
  runs the program, `program_test` runs the asserts, and `program_channel` connects them: data (`program_values`) and numbered
  references to objects (`program_channel`).
- `limits` measures time and memory; `temp_dirs` creates folders that the next command removes if this
  one is killed.
"""
