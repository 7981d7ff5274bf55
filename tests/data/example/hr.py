"""Human resources: shares, names, a database."""

from tests.data.example.instance import HARSH, LENIENT, RIGHT, WRONG, Database, Instance, check, fill, table

NAMES = ("Ada", "Ben", "Chen", "Dina", "Emil", "Fay", "Goran", "Hana", "Ines", "Jon")
TEAMS = ("Design", "Finance", "Legal", "Support")


def employee(i: int) -> tuple[int, str, int, str, str]:
    """Employee i: id, name, team id, hiring date, yearly salary."""
    return (
        1001 + i,
        f"'{NAMES[i % 10]} {'KLMN'[i % 4]}.'",
        1 + i * 3 % 4,
        f"DATE '20{15 + i % 9}-0{1 + i % 9}-15'",
        f"{41000 + i * 1375}.50",
    )


def employee_row(i: int, order: tuple[int, ...] = (0, 1, 2, 3, 4)) -> str:
    """Employee i as SQL values, in the given order of columns."""
    return ", ".join(str(employee(i)[column]) for column in order)


TEAM_TABLE = (
    "CREATE TABLE teams (team_id INTEGER, team VARCHAR, budget DECIMAL(12, 2))",
    fill("teams", 4, lambda i: f"{i + 1}, '{TEAMS[i]}', {250000 + i * 81500}.75"),
)

INSTANCES = [
    Instance(
        id="hr_001",
        shows="row order counts and is right; numbers written with other zeros",
        expected=RIGHT,
        instruction="List headcount and mean age by department, largest department first.",
        checks=[check("table_match", gold="headcount.csv", ignore_order=False)],
        gold={
            "headcount.csv": table(
                "department,headcount,mean_age | Support,64,34.2 | Engineering,58,36.9 | Sales,41,38.4 | Logistics,37,41.75 | "
                "Finance,19,44.0 | Design,14,33.5 | Legal,8,46.25"
            )
        },
        answer="headcount.csv",
        handed_in={
            "headcount.csv": table(
                "department,n,mean_age | Support,64,34.20 | Engineering,58,36.90 | Sales,41,38.40 | Logistics,37,41.75 | "
                "Finance,19,44.00 | Design,14,33.50 | Legal,8,46.25"
            )
        },
    ),
    Instance(
        id="hr_002",
        shows="a percentage with a space before the sign",
        expected=RIGHT,
        instruction="What share of the staff left the company during the year, in percent?",
        checks=[check("number_match", gold=17.5, percentage=True)],
        answer="Attrition was 17.5 %.",
    ),
    Instance(
        id="hr_003",
        shows="all of several names are asked for (conj and)",
        expected=RIGHT,
        instruction="Who are the two managers with the most direct reports?",
        checks=[check("string_match", gold=["Nakamura", "Okafor"], conj="and")],
        answer="Keiko Nakamura and Daniel Okafor lead the most people directly.",
    ),
    Instance(
        id="hr_004",
        shows="plainly wrong text",
        expected=WRONG,
        instruction="Which department has the longest mean tenure?",
        checks=[check("string_match", gold="Engineering")],
        answer="Marketing has the longest mean tenure.",
    ),
    Instance(
        id="hr_005",
        shows="a percentage handed in as a fraction: the reference only tries 100 times gold, not a hundredth",
        expected=HARSH,
        instruction="Which share of open positions was filled from within, in percent?",
        checks=[check("number_match", gold=8.2, percentage=True)],
        answer="0.082",
    ),
    Instance(
        id="hr_006",
        shows="a value near zero where gold has zero: within 0.01, yet not the same",
        expected=LENIENT,
        instruction="What is the rate of sick days of each office, in percent, in alphabetical order?",
        checks=[check("table_match", gold="sick_days.csv", condition_cols=[0, 1])],
        gold={"sick_days.csv": table("office,rate | Bergen,2.35 | Ghent,4.1 | Lyon,3.02 | Porto,0.0 | Turin,1.87 | Vilnius,2.9")},
        answer="sick_days.csv",
        handed_in={"sick_days.csv": table("office,rate | Bergen,2.35 | Ghent,4.1 | Lyon,3.02 | Porto,0.004 | Turin,1.87 | Vilnius,2.9")},
    ),
    Instance(
        id="hr_007",
        shows="a database: other column order and one more table are accepted",
        expected=RIGHT,
        instruction="Build the tables teams and employees from the staff export.",
        checks=[check("duckdb_match", gold="staff.duckdb")],
        gold={
            "staff.duckdb": Database(
                statements=(
                    *TEAM_TABLE,
                    "CREATE TABLE employees (employee_id INTEGER, name VARCHAR, team_id INTEGER, hired DATE, salary DECIMAL(10, 2))",
                    fill("employees", 20, employee_row),
                )
            )
        },
        answer="staff.duckdb",
        handed_in={
            "staff.duckdb": Database(
                statements=(
                    *TEAM_TABLE,
                    "CREATE TABLE employees (hired DATE, employee_id INTEGER, salary DECIMAL(10, 2), name VARCHAR, team_id INTEGER)",
                    fill("employees", 20, lambda i: employee_row(i, (3, 0, 4, 1, 2))),
                    "CREATE TABLE staging_log AS SELECT 'teams' AS loaded_table, 4 AS n_rows",
                )
            )
        },
    ),
]
