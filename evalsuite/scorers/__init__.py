"""The names a gold file may use in `func`. A new scorer is one file in this folder and one line in this table."""

BUNDLED: dict[str, tuple[str, str]] = {
    "string_match": ("evalsuite.scorers.string_match:string_match", "the answer holds the gold text"),
    "number_match": ("evalsuite.scorers.number_match:number_match", "the answer holds the gold number"),
    "table_match": ("evalsuite.scorers.table_match:table_match", "a CSV table holds the gold columns"),
    "tables_match": ("evalsuite.scorers.tables_match:tables_match", "several CSV tables, each against its own gold"),
    "duckdb_match": ("evalsuite.scorers.duckdb_match:duckdb_match", "tables of a DuckDB database against a gold database"),
}
