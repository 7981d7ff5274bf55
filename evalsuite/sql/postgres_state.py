"""The state of a PostgreSQL database: as long as it is the same, a statement that asks no time gives what it gave."""

from typing import Any, Final

from evalsuite.sql.clock import asks_time

# What may ask the time though a statement does not: views, and functions that a SELECT can call.
_DEFINED: Final = (
    "SELECT definition FROM pg_views WHERE schemaname NOT IN ('pg_catalog', 'information_schema') UNION ALL "
    "SELECT CASE WHEN prosrc = '' THEN pg_get_functiondef(oid) ELSE prosrc END FROM pg_proc "
    "WHERE oid >= 16384 AND prokind IN ('f', 'w') AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)"
)
# Asked with every state: a change of a view or function gives its row of the catalogs another xmin, and the sum is made by the server.
_MARK: Final = (
    "(SELECT coalesce(sum(hashtext(concat(oid, ' ', xmin))), 0) FROM "
    "(SELECT oid, xmin FROM pg_rewrite UNION ALL SELECT oid, xmin FROM pg_proc) AS defined WHERE oid >= 16384)"
)
_STATE: Final = (
    "SELECT (SELECT system_identifier FROM pg_control_system()), current_database(), current_user, "
    "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text, "
    f"current_setting('search_path'), {_MARK}"
)
# (cluster, database) -> the mark seen last, and whether something asked the time then; every statement has a session of its own.
_asking: dict[tuple[int, str], tuple[int, bool]] = {}


def fingerprint(connection: Any) -> str | None:
    """The cluster's identity and its place in the log of changes: any write, in any of its databases, makes another one.

    None where a view or a function of the database asks the time: it keeps the server's clock.
    """
    *state, mark = connection.execute(_STATE).fetchone()
    place = (state[0], state[1])
    known = _asking.get(place)
    if known is None or known[0] != mark:
        texts = connection.execute(_DEFINED).fetchall()
        known = _asking[place] = mark, any(asks_time(text or "", "postgres") for (text,) in texts)
    return None if known[1] else "|".join(map(str, state))
