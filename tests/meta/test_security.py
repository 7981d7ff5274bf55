"""Each sentence of SECURITY.md that says what happens has a test of that behaviour; its two tables have their own (tests/sandbox)."""

import re

from tests.conftest import ROOT
from tests.meta import absent_tests

# A part of the sentence -> file below `tests` and its test.
TESTS = {
    "No answer reads gold.": "attacks/test_corpus.py::test_the_canary_of_gold_is_in_no_output",
    "must stay inside": "readers/test_paths.py::test_a_path_that_could_leave_the_folder_is_refused_before_anything_is_opened",
    "through no link.": "readers/test_paths.py::test_links_are_refused_wherever_they_stand_on_the_way",
    "by descriptor": "readers/test_paths.py::test_a_folder_that_becomes_a_link_after_the_look_is_not_followed",
    "Hard links to gold": "readers/test_paths.py::test_a_hard_link_to_a_gold_file_is_refused",
    "gets no gold": "sandbox/test_landlock.py::test_a_reader_cannot_read_gold_wherever_it_lies",
    "attached one at a time": "readers/test_duckdb_tables.py::test_a_wal_beside_the_file_is_never_seen_and_nothing_is_left_behind",
    "Only base tables": "readers/test_duckdb_views.py::test_what_a_view_may_not_do",
    "After an error the connection": "readers/test_duckdb_tables.py::test_a_damaged_file_is_a_fault_with_a_fixed_text",
    "Statements of a submission": "attacks/test_corpus.py::test_every_expectation_holds",
    "No answer stops the run": "attacks/test_corpus.py::test_controls_score_as_if_alone",
    "parse `results_metadata.jsonl`": "attacks/test_damaged_runs.py::test_nothing_of_it_is_parsed_by_the_command",
    "keeps only answers to instances": "runs/test_submitted_files.py::test_ids_that_gold_lacks_are_counted",
    "run_seconds": "runs/test_submitted_files.py::test_a_whole_run_has_a_budget",
    "A crash, an endless loop": "runs/workers/test_pool.py::test_a_death_costs_one_instance",
    "What the machine does": "runs/workers/test_pool.py::test_a_death_costs_one_instance",
    "half of `memory_mib`": "runs/workers/test_pool.py::test_a_worker_that_keeps_its_memory_is_replaced",
    "`validate`, `check`": "attacks/test_single_files.py::test_crafted_files_end_no_command",
    "copies the bytes of a database": "sandbox/test_temporary_files.py::test_the_command_opens_no_database",
    "So does everything that reads": "attacks/test_damaged_runs.py::test_nothing_of_it_is_parsed_by_the_command",
    "No archive writes": "runs/test_archives.py::test_every_hostile_kind_is_refused_and_the_others_go_on",
    "under plain names": "runs/test_archives.py::test_an_archive_is_worth_what_its_folder_is",
    "Links, devices, holes": "runs/test_archives.py::test_what_a_worker_says_is_not_believed",
    "cannot write a byte": "sandbox/test_worker_sandbox.py::test_everything_is_refused_in_both_roles",
    "makes evalsuite use the network": "cli/test_network.py::test_a_connection_is_opened_for_what_needs_a_query_alone",
    "by an audit hook": "cli/test_network.py::test_a_connection_is_opened_for_what_needs_a_query_alone",
    "is only a submission": "cli/test_leaderboard.py::test_what_counts_as_a_run",
    "that you name yourself": "analysis/gold_checks/test_forgery.py::test_no_forgery_is_verified",
    "bytes that it scores": "runs/test_swap_race.py::test_each_file_of_a_submission_is_opened_once",
    "only under that digest": "runs/test_swap_race.py::test_a_swapped_file_moves_nobody_elses_verdict",
    "makes all text printable": "attacks/test_corpus.py::test_one_row_stays_one_row",
    "only their own script": "attacks/test_corpus.py::test_reports_hold_nothing_that_acts",
    "Of PostgreSQL it holds": "sql/test_postgres.py::test_wide_rows_come_one_at_a_time",
    "An SQL answer runs only": "sql/test_attacks.py::test_attacks_are_refused",
    "runs in the program sandbox": "sandbox/test_programs.py::test_programs_are_judged_in_a_jail_without_being_asked",
    "It has its own namespaces": "sandbox/test_programs.py::test_every_wall_refuses",
    "write 16 MiB in memory": "sandbox/test_programs.py::test_no_native_code_but_what_is_installed",
    "no child process": "scorers/metrics/test_python_unit_testing.py::test_walls",
    "one budget of seconds": "sandbox/test_programs.py::test_all_programs_of_an_answer_share_its_seconds",
    "run in a second process": "sandbox/test_programs.py::test_an_honest_test_says_what_one_interpreter_says",
    "Values are sent as data": "sandbox/test_program_values.py::test_what_no_side_sends_is_an_error",
    "are sent as numbers": "sandbox/test_program_values.py::test_one_object_stays_one",
    "No method of the program": "sandbox/test_programs.py::test_no_trick_passes",
    "Changes to the program's interpreter": "sandbox/test_programs.py::test_no_trick_passes",
    "something that cannot be sent": "sandbox/test_programs.py::test_what_cannot_be_run_apart_is_said",
    "On a machine without": "cli/test_allow_programs.py::test_run",
    "Gold cannot allow": "scorers/metrics/test_python_unit_testing.py::test_gold_cannot_give_the_permission",
    "outside of the checkout": "cli/test_action.py::test_no_module_of_the_checkout_is_imported",
    "GITHUB_WORKSPACE": "cli/test_action.py::test_reports_are_written_through_no_link",
    "there only the score cache": "cli/test_leaderboard.py::test_runs_in_a_submission_are_not_reused",
    "can use the viewer": "reports/viewer/test_app.py::test_a_foreign_host_is_refused",
    "Showing a run executes": "attacks/test_stranger.py::test_the_folder_that_the_user_names_is_executed",
    "only a saved run names": "attacks/test_stranger.py::test_no_command_executes_code_that_only_a_run_names",
    "`report`, `export`, `view`": "attacks/test_stranger.py::test_no_command_executes_code_that_only_a_run_names",
    "need `--gold DIR`": "attacks/test_stranger.py::test_the_folder_that_the_user_names_is_executed",
    "TAB completion": "attacks/test_stranger.py::test_completion_executes_nothing",
    "No message of a worker": "runs/workers/test_messages.py::test_any_bytes_are_refused_or_harmless",
    "Limits have safe defaults": "readers/test_paths.py::test_limits_in_turn_with_their_defaults",
    "name the active sandbox features": "sandbox/test_worker_sandbox.py::test_a_run_names_the_sandbox_features_of_security_md",
    "`evalsuite doctor` lists them": "cli/test_entrance.py::test_doctor",
    # Sandbox features by system.
    "with the missing functions removed": "platforms/test_absent.py::test_the_example",
    "On Windows the command's own process": "platforms/test_absent.py::test_other_commands",
    "refuses each of these actions": "sandbox/test_worker_sandbox.py::test_everything_is_refused_in_both_roles",
    "fails if this table has other rows": "sandbox/test_worker_sandbox.py::test_security_promises_exactly_these",
    "Gold may be inside": "sandbox/test_landlock.py::test_a_reader_cannot_read_gold_wherever_it_lies",
    "inside the gold folder is refused": "sandbox/test_landlock.py::test_a_submission_in_the_gold_folder_is_refused",
    # Limits of the guarantees.
    "contains `programs:allowed`": "cli/test_allow_programs.py::test_run",
    "Programs inside trees": "scorers/metrics/test_python_unit_testing.py::test_in_a_tree_it_needs_permission_too",
    "`official` keeps the reference's rules": "conformance/test_recorded_data.py::test_spider2",
    "refuses those that it detects": "conformance/test_spider2_official.py::test_strict_refuses_what_is_wrong",
    "Such answers meet no": "cli/test_run.py::test_nothing_judged_passes_no_gate",
    "unless `--reveal": "cli/test_report.py::test_gold_is_shown_at_cells_only",
    "finds no gold and no secret": "sandbox/test_fork_ahead.py::test_no_variable_of_the_environment_reaches_a_worker",
    "is read as it is at that moment": "readers/test_submission_files.py::test_a_run_stands_for_the_bytes_that_it_read",
    "open the gold that a run names": "attacks/test_stranger.py::test_no_command_executes_code_that_only_a_run_names",
    "They execute no plugin of it": "attacks/test_stranger.py::test_no_command_executes_code_that_only_a_run_names",
    "`python -m evalsuite` in an untrusted folder": "sandbox/test_worker_sandbox.py::test_only_python_m_imports_files_of_the_folder",
    "`--isolation none` reads files in one process": "cli/test_rare_options.py::test_without_isolation_answers_are_read_here",
}
# Sentences of the last two sections that warn of what is not prevented, or say what to do.
WARNINGS = [
    *("what the code requests of those systems", "program is barely confined", "A program can escape", "Allow only programs that you"),
    *(
        "gets the program's answer",
        "Helpers that the test uses",
        "The text of a warning",
        "Use `--rules strict`",
        "Run folders contain",
        "Input of a judge",
    ),
    *("nothing kills them at a time limit", "the rights of your account", "Even with it", "in a container", "Score a copy"),
    "an untrusted gold database",
    "contains your runs and the replies of judges",
    *("process reads the results of servers", "Of Snowflake and BigQuery it holds"),
    *("It has no password", "An answer without a value", "lists them"),
]


def sentences() -> list[str]:
    """The sentences of the sections on guarantees, sandbox features and limits, without tables."""
    sections = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Guarantees\n")[2].partition("\n## How it is tested")[0]
    parts = [re.sub(r"\s+", " ", part).strip() for part in re.split(r"\n\n|\n- ", sections) if part[:1] not in ("|", "#")]
    return [sentence for part in parts if part for sentence in re.split(r"(?<=[a-z`)*]\.)\s+(?=[A-Z`])", part)]


def test_each_sentence_has_a_test() -> None:
    """No sentence without an entry, and no entry without its sentence."""
    parts = [*TESTS, *WARNINGS]
    assert [sentence for sentence in sentences() if not any(part in sentence for part in parts)] == []
    assert [part for part in parts if not any(part in sentence for sentence in sentences())] == []


def test_each_of_these_tests_is_there() -> None:
    """A test that is renamed or deleted is looked for here."""
    assert absent_tests(f"tests/{place}" for place in TESTS.values()) == []
