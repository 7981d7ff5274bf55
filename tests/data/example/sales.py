"""Sales: text, number and table answers, most of them right."""

from tests.data.example.instance import HARSH, LENIENT, RIGHT, WRONG, Instance, check, series, table

PRODUCTS = ("Aurora Lamp", "Borealis Lamp", "Cirrus Chair", "Drift Desk", "Ember Shelf", "Fjord Stool")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
COUNTRIES = ("Austria", "Belgium", "Denmark", "France")
REPS = ("Abebe", "Brandt", "Castro", "Dubois", "Eriksen", "Ferrari", "Gupta", "Hassan", "Ivanova", "Jansen", "Kowalski", "Lopez")
WRONG_QUARTERS = {5: 310.4, 13: -42.15, 20: 9.9}


def quarter_revenue(i: int) -> float:
    """Revenue of row i of the product-by-quarter table."""
    return 4200.25 + (i * 37 % 24) * 185.5


def product_row(i: int, error: float = 0.0) -> str:
    """Row i: product, quarter, revenue."""
    return f"{PRODUCTS[i // 4]},Q{i % 4 + 1},{quarter_revenue(i) + error:.2f}"


def orders(month: int) -> int:
    """Orders shipped in a month, 0 to 11."""
    return 380 + month * 53 % 97


def customer_row(i: int) -> str:
    """Row i: customer id, name, country, number of orders."""
    return f"C{101 + i},{REPS[i]} & Co,{COUNTRIES[i % 4]},{3 + i * 7 % 11}"


def commission(i: int) -> str:
    """Commission of rep i, all different."""
    return f"{1150 + i * 5 % 12 * 83.75:.2f}"


def volume_row(i: int) -> str:
    """Row i: month, units; every ordered unit was shipped in its month."""
    return f"{MONTHS[i]},{900 + i * 41 % 130}"


INSTANCES = [
    Instance(
        id="sales_001",
        shows="other row order, other headers, an extra column: all accepted; only columns 0 and 1 are needed",
        expected=RIGHT,
        instruction="What revenue did each sales region bring in during the last fiscal year?",
        checks=[check("table_match", gold="result.csv", condition_cols=[0, 1], ignore_order=True)],
        gold={
            "result.csv": table(
                "region,revenue,orders | North,184200.5,412 | South,97310.25,268 | East,143875.0,350 | West,201944.75,487 | "
                "Alps,58220.4,131 | Coast,120015.6,299 | Islands,33108.9,84 | Capital,265430.15,603"
            )
        },
        answer="result.csv",
        handed_in={
            "result.csv": table(
                "Sales region,Region lead,Revenue (EUR) | Capital,M. Roth,265430.15 | West,P. Lind,201944.75 | North,A. Kaya,184200.5 | "
                "East,J. Moreau,143875.0 | Coast,S. Novak,120015.6 | South,T. Rossi,97310.25 | Alps,L. Huber,58220.4 | "
                "Islands,C. Reyes,33108.9"
            )
        },
    ),
    Instance(
        id="sales_002",
        shows="a number in a sentence, with thousands separators",
        expected=RIGHT,
        instruction="What was the total revenue of the third quarter, in EUR?",
        checks=[check("number_match", gold=48215.75)],
        answer="Third-quarter revenue was 48,215.75 EUR.",
    ),
    Instance(
        id="sales_003",
        shows="two accepted names, one name that must not appear",
        expected=RIGHT,
        instruction="Which lamp sold best? Name one product only.",
        checks=[check("string_match", gold=["Aurora Lamp", "Aurora Desk Lamp"], exclude=["Borealis"])],
        answer="The best seller was the Aurora desk lamp.",
    ),
    Instance(
        id="sales_004",
        shows="a near miss: 3 of 24 cells of one column are wrong",
        expected=WRONG,
        instruction="List the revenue of every product in every quarter.",
        checks=[check("table_match", gold="revenue.csv")],
        gold={"revenue.csv": series("product,quarter,revenue", 24, product_row)},
        answer="revenue.csv",
        handed_in={"revenue.csv": series("product,quarter,rev", 24, lambda i: product_row(i, WRONG_QUARTERS.get(i, 0.0)))},
    ),
    Instance(
        id="sales_005",
        shows="two tables handed in together, one of them in any row order, the other by two columns",
        expected=RIGHT,
        instruction="Give the list of customers with their order counts, and the orders shipped per month.",
        checks=[check("tables_match", gold=["customers.csv", "monthly.csv"], condition_cols=[[], [0, 1]], ignore_orders=[True, False])],
        gold={
            "customers.csv": series("customer_id,name,country,orders", 12, customer_row),
            "monthly.csv": series("month,orders,working_days", 12, lambda i: f"{MONTHS[i]},{orders(i)},{20 + i % 3}"),
        },
        answer=["customers.csv", "orders_per_month.csv"],
        handed_in={
            "customers.csv": series("id,customer,country,n_orders", 12, lambda i: customer_row((i * 5 + 2) % 12)),
            "orders_per_month.csv": series("month,n", 12, lambda i: f"{MONTHS[i]},{orders(i)}"),
        },
    ),
    Instance(
        id="sales_006",
        shows="several accepted golds: the second one is met",
        expected=RIGHT,
        instruction="What was the revenue of each sales channel? Returns may be left in or taken out.",
        checks=[check("table_match", gold=["with_returns.csv", "without_returns.csv"], ignore_order=True)],
        gold={
            "with_returns.csv": table("channel,revenue | Web,91200.5 | Store,64110.25 | Phone,12980.75 | Partner,33410.1 | Fair,8125.9"),
            "without_returns.csv": table("channel,revenue | Web,88140.2 | Store,63020.45 | Phone,12410.05 | Partner,32990.6 | Fair,8125.9"),
        },
        answer="channels.csv",
        handed_in={
            "channels.csv": table("channel,net_revenue | Fair,8125.9 | Partner,32990.6 | Phone,12410.05 | Store,63020.45 | Web,88140.2")
        },
    ),
    Instance(
        id="sales_007",
        shows="rows scrambled: every column holds the right values, but each commission stands beside the wrong person",
        expected=LENIENT,
        instruction="What commission is due to each sales representative?",
        checks=[check("table_match", gold="commissions.csv", ignore_order=True)],
        gold={"commissions.csv": series("representative,commission", 12, lambda i: f"{REPS[i]},{commission(i)}")},
        answer="commissions.csv",
        handed_in={"commissions.csv": series("representative,commission", 12, lambda i: f"{REPS[i]},{commission((i + 1) % 12)}")},
    ),
    Instance(
        id="sales_008",
        shows="a rounded number: right to its last digit, yet further than 0.0001 from gold",
        expected=HARSH,
        instruction="What is the average order value of the customer Meridian, in EUR?",
        checks=[check("number_match", gold=2604.2362912)],
        answer="The average order value is 2604.24 EUR.",
    ),
    Instance(
        id="sales_009",
        shows="one predicted column stands for two gold columns",
        expected=LENIENT,
        instruction="How many units were ordered and how many were shipped in each month?",
        checks=[check("table_match", gold="volume.csv")],
        gold={"volume.csv": series("month,units_ordered,units_shipped", 12, lambda i: f"{volume_row(i)},{volume_row(i).split(',')[1]}")},
        answer="volume.csv",
        handed_in={"volume.csv": series("month,units,working_days", 12, lambda i: f"{volume_row(i)},{20 + i % 3}")},
    ),
    Instance(
        id="sales_010",
        shows="two checks in one instance: a table would do, the number handed in does too",
        expected=RIGHT,
        instruction="How many orders were shipped in the year? Hand in the months as a table, or the total.",
        checks=[
            check("table_match", gold="monthly.csv", condition_cols=[1], ignore_order=True),
            check("number_match", gold=sum(map(orders, range(12)))),
        ],
        gold={"monthly.csv": series("month,orders", 12, lambda i: f"{MONTHS[i]},{orders(i)}")},
        answer=f"In all, {sum(map(orders, range(12))):,} orders were shipped.",
    ),
]
