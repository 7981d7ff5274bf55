"""Geography: places, distances, temperatures."""

from tests.data.example.instance import HARSH, RIGHT, WRONG, Instance, check, table

INSTANCES = [
    Instance(
        id="geo_001",
        shows="a short text answer",
        expected=RIGHT,
        instruction="In which country was the first store abroad opened?",
        checks=[check("string_match", gold="Portugal")],
        answer="The first store abroad was opened in Portugal.",
    ),
    Instance(
        id="geo_002",
        shows="names with commas in quotes; row order counts",
        expected=RIGHT,
        instruction="List the ten cities with the most store visits, busiest first.",
        checks=[check("table_match", gold="cities.csv", condition_cols=[0, 1])],
        gold={
            "cities.csv": table(
                'city,visits,stores | "Washington, D.C.",98410,12 | "Portland, Oregon",87225,9 | Boston,84102,11 | Denver,79950,8 | '
                'Austin,77318,10 | Seattle,70044,7 | "Portland, Maine",61200,3 | Tampa,58871,6 | Boise,40312,4 | Reno,39007,3'
            )
        },
        answer="cities.csv",
        handed_in={
            "cities.csv": table(
                'visits,city | 98410,"Washington, D.C." | 87225,"Portland, Oregon" | 84102,"Boston" | 79950,"Denver" | 77318,"Austin" | '
                '70044,"Seattle" | 61200,"Portland, Maine" | 58871,"Tampa" | 40312,"Boise" | 39007,"Reno"'
            )
        },
    ),
    Instance(
        id="geo_003",
        shows="all of several names, and one that must not appear (conj and, exclude)",
        expected=RIGHT,
        instruction="Which two states gained stores in every quarter?",
        checks=[check("string_match", gold=["Texas", "Ohio"], conj="and", exclude=["Utah", "Nevada"])],
        answer="Ohio and Texas.",
    ),
    Instance(
        id="geo_004",
        shows="a wrong number: two digits changed places",
        expected=WRONG,
        instruction="How long is the longest delivery route, in km?",
        checks=[check("number_match", gold=1284)],
        answer="The longest route is 1,248 km.",
    ),
    Instance(
        id="geo_005",
        shows="a negative gold given as text: the reference does not see the sign of an answer, so nothing can match it",
        expected=HARSH,
        instruction="What was the mean January temperature at the Bergen warehouse, in degrees Celsius?",
        checks=[check("number_match", gold="-3.2")],
        answer="-3.2",
        lint_ignore=["negative-number"],
    ),
    Instance(
        id="geo_006",
        shows="two numbers, both asked for (conj and)",
        expected=RIGHT,
        instruction="How many stores are in cities, and how many in the country?",
        checks=[check("number_match", gold=[213, 87], conj="and")],
        answer="There are 213 stores in cities and 87 in the country.",
    ),
]
