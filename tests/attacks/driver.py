"""Run evalsuite's command line over the sets of a corpus, in one process, and say what that process did.

`python -m tests.attacks.driver PLAN`: PLAN is a JSON file with `runs` (name, arguments) and `sharing`, the runs
that fork their workers from one server. Standard output and error of each run go to
files in the plan's `out`; last, `out/process.json` says peak memory, heavy modules, exit codes, the network counters of the
system and whether this is a superuser, who may read everything. In a network namespace of its own (`unshare --net`) these
counters are this process's and its workers' alone.
"""

import contextlib
import json
import os
import socket
import sys
from pathlib import Path

HEAVY = ("duckdb", "pandas", "numpy")
_ATTEMPTS = ("IpOutRequests", "IpOutNoRoutes", "TcpActiveOpens", "UdpOutDatagrams", "Ip6OutRequests", "Ip6OutNoRoutes", "Udp6OutDatagrams")


def main(plan_file: str) -> None:
    """Run every entry of the plan."""
    from evalsuite.cli import main as evalsuite
    from evalsuite.runs import WORKER_MODULES
    from evalsuite.sandbox.fork_server import fork_server_for, share

    plan = json.loads(Path(plan_file).read_text())
    out = Path(plan["out"])
    before, codes = network_attempts(), {}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(fork_server_for(modules=WORKER_MODULES)) if plan["sharing"] else None
        for name, arguments in plan["runs"].items():
            with (
                share(server if name in plan["sharing"] else None),
                (out / f"{name}.stdout").open("w", encoding="utf-8") as stdout,
                (out / f"{name}.stderr").open("w", encoding="utf-8") as stderr,
                contextlib.redirect_stdout(stdout),
                contextlib.redirect_stderr(stderr),
            ):
                codes[name] = evalsuite(arguments)
    report = {
        "codes": codes,
        "peak_kib": peak_memory(),
        "heavy": [name for name in HEAVY if name in sys.modules],
        "network": network_attempts() - before,
        "is_root": os.geteuid() == 0,
        "meter_works": meter_works() if plan["metered"] else None,
    }
    (out / "process.json").write_text(json.dumps(report))


def network_attempts() -> int:
    """How many packets and connections were tried in this network namespace so far, whether or not they found a way out."""
    total = 0
    lines = Path("/proc/self/net/snmp").read_text().splitlines() if Path("/proc/self/net/snmp").exists() else []
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        kind = names.split(":")[0]
        counted = zip(names.split()[1:], values.split()[1:], strict=True)
        total += sum(int(value) for name, value in counted if kind + name in _ATTEMPTS)
    six = Path("/proc/self/net/snmp6")
    for line in six.read_text().splitlines() if six.exists() else []:
        name, value = line.split()
        total += int(value) if name in _ATTEMPTS else 0
    return total


def meter_works() -> bool:
    """Whether one connection attempt moves the counters."""
    before = network_attempts()
    with contextlib.suppress(OSError), socket.socket() as attempt:
        attempt.connect(("192.0.2.1", 80))
    return network_attempts() > before


def peak_memory() -> int:
    """The most memory this process ever held, in KiB, its children not counted; 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


if __name__ == "__main__":
    main(sys.argv[1])
