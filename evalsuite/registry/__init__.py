"""Name -> thing, plugins included, without knowing any of the things.

    @scorer(reads="text")
    def shout_match(prediction: str, *, gold: str | list[str]) -> Score: ...

is a scorer: a plain function whose keyword names are the keys of gold's `parameters`.
"""

from evalsuite.registry.lookup import Registry, UnknownScorerError
from evalsuite.registry.marker import Marker, Scorer, scorer
from evalsuite.registry.parameters import CONNECTION_PARAMETERS, check_parameters, fits, readable
from evalsuite.registry.permission import PROGRAM_BUDGET, PROGRAMS_ALLOWED, allowing_programs
from evalsuite.registry.plugins import WholeBatch
from evalsuite.registry.words import did_you_mean, listed

__all__ = [
    "CONNECTION_PARAMETERS",
    "PROGRAMS_ALLOWED",
    "PROGRAM_BUDGET",
    "Marker",
    "Registry",
    "Scorer",
    "UnknownScorerError",
    "WholeBatch",
    "allowing_programs",
    "check_parameters",
    "did_you_mean",
    "fits",
    "listed",
    "readable",
    "scorer",
]
