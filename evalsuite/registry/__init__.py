"""Name -> thing, plugins included, without knowing any of the things.

    @scorer(reads="text")
    def shout_match(prediction: str, *, gold: str | list[str]) -> Score: ...

is a scorer: a plain function whose keyword names are the keys of gold's `parameters`.
"""

from evalsuite.registry.contract import CONNECTION_PARAMETERS, Marker, Scorer, check_parameters, fits, readable, scorer
from evalsuite.registry.foreign import (
    OFFICIAL_HEARD,
    PROGRAM_BUDGET,
    PROGRAMS_ALLOWED,
    OfficialError,
    allowing_programs,
    is_trusted,
    late_strict,
    official_alone,
    tell_official,
    trusting_plugins,
)
from evalsuite.registry.lookup import Registry, UnknownScorerError
from evalsuite.registry.plugins import WholeBatch

__all__ = [
    "CONNECTION_PARAMETERS",
    "OFFICIAL_HEARD",
    "PROGRAMS_ALLOWED",
    "PROGRAM_BUDGET",
    "Marker",
    "OfficialError",
    "Registry",
    "Scorer",
    "UnknownScorerError",
    "WholeBatch",
    "allowing_programs",
    "check_parameters",
    "fits",
    "is_trusted",
    "late_strict",
    "official_alone",
    "readable",
    "scorer",
    "tell_official",
    "trusting_plugins",
]
