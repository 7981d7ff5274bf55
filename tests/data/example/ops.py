"""Operations: databases, files that cannot be read, and the one instance that was not handed in."""

from tests.data.example.instance import HARSH, LENIENT, RIGHT, WRONG, Database, Instance, check, fill, series, table

CARRIERS = ("Albatross", "Blue Line", "Courier 9", "Dash", "Express Co")
SUPPLIERS = ("Alder", "Birch", "Cedar", "Elm", "Fir")

DEPOTS = table("depot,pallets | Zürich,412 | Malmö,388 | Köln,655 | Orléans,301 | Gdańsk,517 | Coruña,276")

SHIPMENTS = (
    "CREATE TABLE shipments (carrier VARCHAR, parcels BIGINT)",
    fill("shipments", 30, lambda i: f"'{CARRIERS[i % 5]}', {40 + i * 17 % 61}"),
)
PER_CARRIER = "AS SELECT carrier, CAST(sum(parcels) AS BIGINT) AS parcels FROM shipments GROUP BY carrier ORDER BY carrier"

INSPECTIONS = Database(
    statements=(
        "CREATE TABLE inspections (machine VARCHAR, last_check DATE, faults INTEGER)",
        fill("inspections", 12, lambda i: f"'M-{i + 1:02d}', DATE '2024-05-{i + 3:02d}', {i % 4 if i % 5 else 'NULL'}"),
    )
)


def stock_row(i: int) -> str:
    """Row i of the stock table: article, shelf, quantity."""
    return f"'A{200 + i}', 'shelf {i % 6 + 1}', {15 + i * 29 % 83}"


def stock_line(i: int) -> str:
    """Row i of the stock list: article, quantity."""
    return f"A{200 + i},{15 + i * 29 % 83}"


def reading(i: int) -> str:
    """Hour i of two days: time, line speed, defects."""
    return f"2024-03-{4 + i // 24:02d} {i % 24:02d}:00:00,{118.5 + i * 7 % 13 * 0.25:.2f},{i * 5 % 4}"


INSTANCES = [
    Instance(
        id="ops_001",
        shows="a view stands where a table is asked for: official refuses it (NOT_A_TABLE), strict reads its rows, which are right",
        expected=HARSH,
        instruction="Build the table parcels_by_carrier: one row for each carrier with the number of parcels.",
        checks=[check("duckdb_match", gold="parcels.duckdb", condition_tabs=["parcels_by_carrier"], ignore_orders=[True])],
        gold={"parcels.duckdb": Database(statements=(*SHIPMENTS, f"CREATE TABLE parcels_by_carrier {PER_CARRIER}"))},
        answer="parcels.duckdb",
        handed_in={"parcels.duckdb": Database(statements=(*SHIPMENTS, f"CREATE VIEW parcels_by_carrier {PER_CARRIER}"))},
    ),
    Instance(
        id="ops_002",
        shows="an exact copy with NULL in an integer column: the reference finds it unequal to itself",
        expected=HARSH,
        instruction="Build the table inspections: each machine's last check and the faults found, NULL where none was noted.",
        checks=[check("duckdb_match", gold="inspections.duckdb")],
        gold={"inspections.duckdb": INSPECTIONS},
        answer="inspections.duckdb",
        handed_in={"inspections.duckdb": INSPECTIONS},
        lint_ignore=["typed-null"],
    ),
    Instance(
        id="ops_003",
        shows="three tables handed in together, columns in another order",
        expected=RIGHT,
        instruction="Give the stock list, the articles to reorder (fewer than 30 left) and the suppliers by lead time.",
        checks=[
            check("tables_match", gold=["stock.csv", "reorder.csv", "suppliers.csv"], ignore_orders=[True, True, False]),
        ],
        gold={
            "stock.csv": series("article,quantity", 40, stock_line),
            "reorder.csv": table("article,quantity | A200,15 | A203,19 | A206,23 | A209,27 | A223,18 | A226,22 | A229,26"),
            "suppliers.csv": series("supplier,lead_days", 5, lambda i: f"{SUPPLIERS[i]},{2 + i * 2}"),
        },
        answer=["stock.csv", "reorder.csv", "lead_times.csv"],
        handed_in={
            "stock.csv": series("quantity,article", 40, lambda i: ",".join(reversed(stock_line(39 - i).split(",")))),
            "reorder.csv": table("article,left | A229,26 | A226,22 | A223,18 | A209,27 | A206,23 | A203,19 | A200,15"),
            "lead_times.csv": series("lead_days,supplier", 5, lambda i: f"{2 + i * 2},{SUPPLIERS[i]}"),
        },
    ),
    Instance(
        id="ops_004",
        shows="rounded to two decimals, but 9.9996 and 10.00 sort to different places as text",
        expected=HARSH,
        instruction="What is the mean delivery time of each depot, in hours?",
        checks=[check("table_match", gold="delivery.csv", ignore_order=True)],
        gold={
            "delivery.csv": table("depot,hours | Antwerp,9.9996 | Basel,10.5 | Cadiz,11.2512 | Delft,12.0333 | Essen,14.75 | Faro,10.1204")
        },
        answer="delivery.csv",
        handed_in={
            "delivery.csv": table("depot,hours | Antwerp,10.00 | Basel,10.50 | Cadiz,11.25 | Delft,12.03 | Essen,14.75 | Faro,10.12")
        },
    ),
    Instance(
        id="ops_005",
        shows="a short gold found inside another word: 7 in 17",
        expected=LENIENT,
        instruction="Which loading dock handled the most pallets?",
        checks=[check("string_match", gold="7")],
        answer="Dock 17 handled the most pallets.",
    ),
    Instance(
        id="ops_006",
        shows="a broken file: Latin-1 where UTF-8 is asked for (BAD_ENCODING)",
        expected=WRONG,
        instruction="How many pallets does each depot hold?",
        checks=[check("table_match", gold="pallets.csv", ignore_order=True)],
        gold={"pallets.csv": DEPOTS},
        answer="pallets.csv",
        handed_in={"pallets.csv": DEPOTS.replace("ń", "n").encode("latin-1")},
    ),
    Instance(
        id="ops_007",
        shows="missing",
        expected=WRONG,
        instruction="List the downtime of each packing line in minutes.",
        checks=[check("table_match", gold="downtime.csv")],
        gold={"downtime.csv": table("line,minutes | L1,35 | L2,0 | L3,128 | L4,61 | L5,12 | L6,47")},
    ),
    Instance(
        id="ops_008",
        shows="chosen tables and columns of a database, one table in any row order; table names in capitals",
        expected=RIGHT,
        instruction="Build the tables stock (article, shelf, quantity) and suppliers, ordered by name.",
        checks=[
            check(
                "duckdb_match",
                gold="warehouse.duckdb",
                condition_tabs=["stock", "suppliers"],
                condition_cols=[[0, 2], []],
                ignore_orders=[True, False],
            )
        ],
        gold={
            "warehouse.duckdb": Database(
                statements=(
                    "CREATE TABLE stock (article VARCHAR, shelf VARCHAR, quantity INTEGER)",
                    fill("stock", 30, stock_row),
                    "CREATE TABLE suppliers (supplier VARCHAR, lead_days DOUBLE)",
                    fill("suppliers", 5, lambda i: f"'{SUPPLIERS[i]}', {2 + i * 2}.5"),
                    "CREATE TABLE notes AS SELECT 'not compared' AS note",
                )
            )
        },
        answer="warehouse.duckdb",
        handed_in={
            "warehouse.duckdb": Database(
                statements=(
                    "CREATE TABLE STOCK (article VARCHAR, place VARCHAR, quantity INTEGER)",
                    fill("STOCK", 30, lambda i: stock_row((i * 7 + 3) % 30).replace("shelf", "S")),
                    "CREATE TABLE SUPPLIERS (supplier VARCHAR, lead_days DOUBLE)",
                    fill("SUPPLIERS", 5, lambda i: f"'{SUPPLIERS[i]}', {2 + i * 2}.5"),
                )
            )
        },
    ),
    Instance(
        id="ops_009",
        shows="two days of hourly readings with an index column in front",
        expected=RIGHT,
        instruction="Give line speed and defects for each hour of 4 and 5 March 2024.",
        checks=[check("table_match", gold="readings.csv", condition_cols=[0, 1, 2])],
        gold={"readings.csv": series("time,line_speed,defects", 48, reading)},
        answer="readings.csv",
        handed_in={"readings.csv": series(",time,line_speed,defects", 48, lambda i: f"{i},{reading(i)}")},
    ),
]
