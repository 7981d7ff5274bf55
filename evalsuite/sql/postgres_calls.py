"""Which functions a PostgreSQL statement may call: those that leave nothing behind but their result.

A read-only transaction keeps a volatile function from writing tables, and from nothing else: messages, locks, signals to other sessions
and files of the server outlive it.
"""

import re
from collections.abc import Iterator, Set
from typing import Any, Final

from evalsuite.sql.clock import asks_time
from evalsuite.sql.session import OUTSIDE, not_allowed
from evalsuite.sql.statement import POSTGRES, blanked, called_names, calls, only_statement

# Volatile functions that only read what the role may read, draw at random, ask the clock or wait.
_HARMLESS: Final = frozenset(
    {
        *("random", "random_normal", "normal_rand", "setseed", "clock_timestamp", "timeofday", "currval", "lastval", "lo_get"),
        *("gen_random_uuid", "gen_random_bytes", "gen_salt", "uuidv4", "uuidv7"),
        *(f"uuid_generate_v{version}" for version in ("1", "1mc", "4")),
        *("pg_sleep", "pg_sleep_for", "pg_sleep_until", "current_query", "currtid2", "amvalidate", "txid_status"),
        *(f"pg_{what}_size" for what in ("relation", "table", "indexes", "total_relation", "database", "tablespace")),
        *(f"pg_current_wal{what}_lsn" for what in ("", "_insert", "_flush")),
        *("pg_last_wal_receive_lsn", "pg_last_wal_replay_lsn", "pg_last_xact_replay_timestamp", "pg_last_committed_xact"),
        *("pg_is_in_recovery", "pg_is_wal_replay_paused", "pg_get_wal_replay_pause_state", "pg_get_wal_resource_managers"),
        *("pg_blocking_pids", "pg_safe_snapshot_blocking_pids", "pg_lock_status", "pg_prepared_xact", "pg_get_multixact_members"),
        *("pg_partition_tree", "pg_partition_ancestors", "pg_sequence_last_value", "pg_notification_queue_usage", "pg_jit_available"),
        *("pg_xact_status", "pg_xact_commit_timestamp", "pg_xact_commit_timestamp_origin", "pg_stat_have_stats"),
        *("pg_collation_actual_version", "pg_database_collation_actual_version", "pg_get_backend_memory_contexts"),
        *(f"pg_stat_get_xact_{what}" for what in ("blocks_fetched", "blocks_hit", "numscans")),
        *(f"pg_stat_get_xact_tuples_{what}" for what in ("deleted", "fetched", "hot_updated", "inserted", "returned", "updated")),
        *(f"pg_stat_get_xact_function_{what}" for what in ("calls", "self_time", "total_time")),
    }
)
# Functions that run texts as SQL, with the places of those texts; ts_rewrite of three arguments runs none.
_RUN_TEXTS: Final = {
    **dict.fromkeys(("query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "ts_stat"), (0,)),
    "ts_rewrite": (1,),
    **dict.fromkeys(("crosstab", "crosstab2", "crosstab3", "crosstab4"), (0, 1)),
}
# They make SQL of their arguments, and are volatile by no word of theirs.
_MAKE_SQL: Final = ("connectby", "xpath_table")
# What a TABLESAMPLE names can be called by nothing else.
_VOLATILE: Final = (
    "SELECT DISTINCT proname FROM pg_proc WHERE proname = ANY(%s) AND (provolatile = 'v' OR proname = ANY(%s)) "
    "AND prorettype <> 'tsm_handler'::regtype ORDER BY 1"
)
# `U&"..."` before a bracket, perhaps with its UESCAPE.
_HIDDEN_NAME: Final = re.compile(r"\bu&\s*_\s*(?:uescape\s*_\s*)?\(", re.IGNORECASE)
_LITERAL: Final = re.compile(r"(?:'((?:[^']|'')*)'|(\$(?:[A-Za-z_]\w*)?\$)((?:(?!\2).)*+)\2)(?:\s*::\s*text)?", re.DOTALL | re.IGNORECASE)


def refuse_side_effects(connection: Any, sql: str, functions: frozenset[str]) -> None:
    """Raise SQL_NOT_ALLOWED where the statement calls a function that could leave more behind than its result.

    `functions` are names that a person allowed. What a function runs as SQL is looked at in the same way, where it is a plain text.
    """
    blank = blanked(sql, POSTGRES)
    if _HIDDEN_NAME.search(blank):
        raise not_allowed(f'{OUTSIDE}: names in U&"..." hide what is called')
    names = called_names(sql, POSTGRES) - functions
    for text in _texts_run(sql, blank, names):
        if asks_time(text, "postgres"):
            # A frozen clock, and whoever keeps results, looks at the statement itself alone.
            raise not_allowed(f"{OUTSIDE}: a text that it runs as SQL asks the time")
        refuse_side_effects(connection, only_statement(text, POSTGRES, fenced=False), functions)
    asked = sorted(names - _HARMLESS - set(_RUN_TEXTS))
    if asked and (found := connection.execute(_VOLATILE, (asked, list(_MAKE_SQL))).fetchone()):
        raise not_allowed(f"{OUTSIDE}: the function {found[0]} can leave more behind than its result")


def _texts_run(sql: str, blank: str, names: Set[str]) -> Iterator[str]:
    """Each text that calls of functions with these names run. Raises SQL_NOT_ALLOWED where one is no plain literal."""
    for name, place in calls(sql, POSTGRES):
        if name not in _RUN_TEXTS or name not in names:
            continue
        arguments = list(_arguments(sql, blank, place))
        for argument in (
            [] if name == "ts_rewrite" and len(arguments) > 2 else [arguments[at] for at in _RUN_TEXTS[name] if at < len(arguments)]
        ):
            if literal := _LITERAL.fullmatch(argument):
                yield literal[3] if literal[2] else literal[1].replace("''", "'")
            elif not argument.isdigit():
                raise not_allowed(f"{OUTSIDE}: what {name} runs is no plain text")


def _arguments(sql: str, blank: str, start: int) -> Iterator[str]:
    """The arguments of the call whose bracket stands before `start`, as they are written."""
    depth, begin = 1, start
    for place in range(start, len(blank)):
        depth += (blank[place] in "([") - (blank[place] in ")]")
        if depth == 0 or (depth == 1 and blank[place] == ","):
            yield sql[begin:place].strip()
            begin = place + 1
        if depth == 0:
            return
