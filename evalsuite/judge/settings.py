"""The `judge:` section of suite.yaml -> `Settings`, checked key by key; nothing here is needed where nobody asks a judge."""

import os
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from evalsuite import registry
from evalsuite.errors import FaultError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Which judge to ask and how. Only `base_url` and a model are needed.

    Args:
        base_url: the endpoint up to `/chat/completions`, for example `https://api.example.org/v1`.
        model: the model to ask; `models` names several, each gives its own verdict.
        key_env: the environment variable that holds the key; empty: no key is sent. The key itself is never written anywhere.
        key_header: the header of the key: `Authorization` sends `Bearer KEY`, any other one the bare key.
        timeout_seconds: how long one call may take, from connecting to the last byte.
        concurrency: how many calls may be under way at once.
        retries: how often a call is tried again after 408, 409, 425, 429, 5xx, a time-out or a cut connection.
        backoff_seconds: the wait before the first retry; it doubles each time, up to 30 s, with jitter. A `Retry-After` goes first.
        repeats: how many verdicts each model gives on one answer.
        aggregate: how several verdicts become one; `auto` is majority for yes and no, mean for scales.
        parameters: more keys of the request's body, for example `{seed: 7}`; null takes a key out.
        prompts: a folder of `<name>.txt` that replace the bundled prompts, below the gold folder.
        most_chars: how much of each field goes into a prompt; what is longer is cut, visibly.
        cache: the folder of known replies; empty: none is kept.
        cassette: a file of recorded replies; `cassette_mode` says whether it is written or is all there is.
        price_per_1k_prompt: what 1,000 prompt tokens cost, in any currency.
        price_per_1k_completion: what 1,000 completion tokens cost.
    """

    base_url: str = ""
    model: str = ""
    models: tuple[str, ...] = ()
    key_env: str = ""
    key_header: str = "Authorization"
    timeout_seconds: float = 60.0
    concurrency: int = 8
    retries: int = 4
    backoff_seconds: float = 0.5
    repeats: int = 1
    aggregate: Literal["auto", "majority", "mean"] = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    prompts: str = ""
    most_chars: int = 60_000
    cache: str = ".evalsuite/judge"
    cassette: str = ""
    cassette_mode: Literal["replay", "record"] = "replay"
    price_per_1k_prompt: float = 0.0
    price_per_1k_completion: float = 0.0

    @property
    def all_models(self) -> tuple[str, ...]:
        """The models that each give a verdict."""
        return self.models or ((self.model,) if self.model else ())

    @property
    def signature(self) -> str:
        """What of these settings moves a verdict, beside the models: in the signature of metrics. No address and no path."""
        more = ",".join(f"{key}={value}" for key, value in sorted(self.parameters.items()))
        return ",".join([self.aggregate, str(self.repeats), *([more] if more else [])])

    @property
    def prompts_folder(self) -> Path | None:
        """Where the user's own prompts lie, None where there are none."""
        return Path(self.prompts) if self.prompts else None

    def require(self) -> None:
        """Nothing, where a judge can be asked.

        Raises:
            FaultError: NO_JUDGE, naming the key that is missing or cannot be meant.
        """
        if not self.all_models:
            raise FaultError("NO_JUDGE", "judge.model is not set")
        if self.cassette and self.cassette_mode == "replay":
            return
        if not self.base_url:
            raise FaultError("NO_JUDGE", "judge.base_url is not set")
        try:
            parts = urlsplit(self.base_url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise FaultError("NO_JUDGE", "judge.base_url is no http or https address")
        if parts.username is not None or parts.password is not None:
            raise FaultError("NO_JUDGE", "judge.base_url holds a user name or password; name an environment variable in judge.key_env")
        self.key()

    def key(self) -> str:
        """The key out of the environment; empty where none is wanted.

        Raises:
            FaultError: NO_JUDGE where the variable is not set or holds what no header can carry.
        """
        if not self.key_env:
            return ""
        if not self.key_env.isidentifier():
            # Somebody may have written the key itself here, so it is not quoted.
            raise FaultError("NO_JUDGE", "judge.key_env is no name of an environment variable")
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise FaultError("NO_JUDGE", f"the environment variable {self.key_env} (judge.key_env) is not set")
        if not key.isascii() or not key.isprintable():
            raise FaultError("NO_JUDGE", f"the environment variable {self.key_env} (judge.key_env) holds no usable key")
        return key


_TYPES = typing.get_type_hints(Settings)
_AT_LEAST = {
    "timeout_seconds": 0.001,
    "concurrency": 1,
    "retries": 0,
    "backoff_seconds": 0,
    "repeats": 1,
    "most_chars": 1,
    "price_per_1k_prompt": 0,
    "price_per_1k_completion": 0,
}


def read_settings(section: Mapping[str, Any], *, folder: Path | None = None) -> Settings:
    """The settings behind a `judge:` section; relative `prompts` and `cassette` lie below `folder`, the gold folder.

    Raises:
        UsageError: an unknown key, or a value that cannot be meant. A missing model is no error until somebody asks.
    """
    known = [f.name for f in fields(Settings)]
    given: dict[str, Any] = {}
    for key, value in section.items():
        if key not in known:
            raise UsageError(f"unknown key {key!r} in judge", hint=registry.did_you_mean(str(key), known))
        if key == "cache" and value is False:
            value = ""
        if not registry.fits(value, _TYPES[key]):
            found = "" if key == "key_env" else f", found {value!r}"
            raise UsageError(f"judge.{key} must be {registry.readable(_TYPES[key])}{found}")
        if key in _AT_LEAST and not _AT_LEAST[key] <= value < float("inf"):
            raise UsageError(f"judge.{key} must be at least {_AT_LEAST[key]:g}, found {value!r}")
        given[key] = tuple(value) if isinstance(value, list) else value
    for key in ("prompts", "cassette"):
        if given.get(key) and folder is not None:
            given[key] = str(folder / given[key])
    return Settings(**given)
