"""Settings of a judge, checked key by key (the `judge:` section of suite.yaml), and its prompts."""

import hashlib
import os
import re
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from evalsuite.core import registry
from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import FaultError, UsageError, did_you_mean
from evalsuite.core.files import is_file

Message = Mapping[str, str]
BUNDLED = Path(__file__).parent / "prompts"
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_USER_LINE = re.compile(r"^\[user\][ \t]*\n", re.MULTILINE)
_CUT = " [... cut]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Text of a prompt. The part before a line `[user]` is the system message; without such a line all of it is the user message."""

    name: str
    text: str

    @property
    def version(self) -> str:
        """`name@` and 8 digits of the text's hash: another text makes another judge."""
        return f"{self.name}@{hashlib.sha256(self.text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"

    @property
    def placeholders(self) -> set[str]:
        """The names between `{{` and `}}`."""
        return set(_PLACEHOLDER.findall(self.text))

    def messages(self, fields: Mapping[str, str], *, most_chars: int = 60_000) -> tuple[Message, ...]:
        """Return the chat messages with every placeholder filled in; a field longer than `most_chars` is cut, visibly.

        `{{boundary}}` is a mark that no field contains, the same for the same fields.

        Raises:
            FaultError: the text has a placeholder without a field.
        """
        unknown = sorted(self.placeholders - {*fields, "boundary"})
        if unknown:
            field_names = ", ".join(sorted(fields))
            raise FaultError("BAD_SPEC", f"the prompt {self.name!r} has the unknown placeholder {unknown[0]!r}; known: {field_names}")
        cut = {name: value if len(value) <= most_chars else value[:most_chars] + _CUT for name, value in fields.items()}
        # A mark from the hash of all fields. An answer cannot contain it, because its author does not know the reference.
        everything = "\0".join(cut[name] for name in sorted(cut))
        cut["boundary"] = hashlib.sha256(everything.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        parts = _USER_LINE.split(self.text, maxsplit=1)
        system, user = (parts[0].strip(), parts[1].strip()) if len(parts) == 2 else ("", self.text.strip())
        roles = (("system", system), ("user", user)) if system else (("user", user),)
        return tuple({"role": role, "content": _PLACEHOLDER.sub(lambda match: cut[match[1]], text)} for role, text in roles)


def read_prompt(name: str, folder: Path | None = None) -> Prompt:
    """Return the prompt `<name>.txt` of the user's folder if it exists, else the bundled one.

    Raises:
        FaultError: there is no such file, or it is not UTF-8.
    """
    if not re.fullmatch(r"[\w-]+", name):
        raise FaultError("BAD_SPEC", f"{name!r} is no name of a prompt", side="gold")
    for place in (*([folder] if folder is not None else []), BUNDLED):
        file = place / f"{name}.txt"
        if is_file(file):
            try:
                return Prompt(name=name, text=file.read_text(encoding="utf-8-sig"))
            except (OSError, UnicodeDecodeError):
                raise FaultError("BAD_SPEC", f"the prompt file {file.name} cannot be read as UTF-8", side="gold") from None
    prompt_names = ", ".join(sorted(file.stem for file in BUNDLED.glob("*.txt")))
    raise FaultError("BAD_SPEC", f"no prompt {name!r}; bundled ones: {prompt_names}", side="gold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Endpoint, models and limits of a judge. Only `base_url` and a model are required.

    Args:
        base_url: the endpoint up to `/chat/completions`, for example `https://api.example.org/v1`.
        provider: the protocol; `openai` is its chat completions, which most servers support.
        model: the model to ask; `models` names several, each of which gives its own verdict.
        key_env: the environment variable with the key; empty: no key is sent. The key itself is never written anywhere.
        key_header: the header of the key, by default the provider's: `Authorization` sends `Bearer KEY`, any other one only the key.
        timeout_seconds: the time limit of one call, from connecting to the last byte.
        concurrency: the maximum number of parallel calls; fewer while the endpoint refuses calls because of the rate.
        batch: whether a run uses the provider's batch API (openai, responses, anthropic): cheaper, and within a day.
        requests_per_minute: the maximum number of requests per minute, retries too; 0 sets no limit.
        tokens_per_minute: the same for the tokens of prompts and replies.
        retries: the number of retries after 408, 409, 425, 429, 5xx, a time-out or a lost connection.
        backoff_seconds: the wait before the first retry; it doubles each time, up to 30 s, with jitter. A `Retry-After` takes precedence.
        repeats: the number of verdicts of each model on one answer.
        aggregate: how verdicts are combined; `auto` is majority for yes and no, mean for scales.
        parameters: further keys of the request's body, for example `{seed: 7}`; null removes a key.
        prompts: a folder of `<name>.txt` that replace the bundled prompts, below the gold folder.
        most_chars: the maximum length of each field in a prompt; a longer one is cut, visibly.
        cache: the folder of cached replies; empty: no cache.
        cassette: a file of recorded replies; `cassette_mode` says whether it is written or only replayed.
        price_per_1k_prompt: the price of 1,000 prompt tokens, in any currency.
        price_per_1k_completion: the price of 1,000 completion tokens.
        max_cost: the maximum cost of a run; further answers are unscored. 0 sets no limit.
    """

    base_url: str = ""
    provider: Literal["openai", "responses", "azure", "anthropic", "gemini"] = "openai"
    model: str = ""
    models: tuple[str, ...] = ()
    key_env: str = ""
    key_header: str = ""
    timeout_seconds: float = 60.0
    concurrency: int = 8
    batch: bool = False
    requests_per_minute: float = 0.0
    tokens_per_minute: float = 0.0
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
    max_cost: float = 0.0

    @property
    def all_models(self) -> tuple[str, ...]:
        """The models that each give a verdict."""
        return self.models or ((self.model,) if self.model else ())

    @property
    def signature(self) -> str:
        """Settings that affect a verdict, without the models, for the signature of metrics. Contains no address and no path."""
        more = ",".join(f"{key}={value}" for key, value in sorted(self.parameters.items()))
        return ",".join([self.aggregate, str(self.repeats), *([more] if more else [])])

    @property
    def verdict_line(self) -> str:
        """Settings that affect a verdict, models first, for a run's signature: no address, path, retry or price."""
        more = [f"{key}={self.parameters[key]!r}" for key in sorted(self.parameters)]
        if self.prompts_folder is not None:
            texts = [file.name.encode() + b"\0" + file.read_bytes() for file in sorted(self.prompts_folder.glob("*.txt"))]
            more.append("prompts=" + hashlib.sha256(b"\0".join(texts)).hexdigest()[:8])
        for key, usual in (("repeats", 1), ("aggregate", "auto"), ("most_chars", 60_000)):
            more += [f"{key}={getattr(self, key)}"] if getattr(self, key) != usual else []
        return ",".join(["+".join(self.all_models) or "no model", *more]).replace("|", "/")

    @property
    def prompts_folder(self) -> Path | None:
        """The folder with the user's own prompts, or None."""
        return Path(self.prompts) if self.prompts else None

    def cost_of(self, n_prompt_tokens: int, n_completion_tokens: int) -> float:
        """Return the price of so many tokens."""
        return (n_prompt_tokens * self.price_per_1k_prompt + n_completion_tokens * self.price_per_1k_completion) / 1000

    def require(self) -> None:
        """Check that a judge is configured.

        Raises:
            FaultError: NO_JUDGE, naming the missing or invalid key.
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
        if secret := secret_in(self.base_url):
            raise FaultError("NO_JUDGE", f"judge.base_url contains {secret}; name an environment variable in judge.key_env")
        self.key()

    def key(self) -> str:
        """Return the key from the environment; empty if none is needed.

        Raises:
            FaultError: NO_JUDGE if the variable is not set or is not valid in a header.
        """
        if not self.key_env:
            return ""
        if not self.key_env.isidentifier():
            # Not quoted, because a user may have written the key itself here.
            raise FaultError("NO_JUDGE", "judge.key_env is not the name of an environment variable")
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise FaultError("NO_JUDGE", f"the environment variable {self.key_env} (judge.key_env) is not set")
        if not key.isascii() or not key.isprintable():
            raise FaultError("NO_JUDGE", f"the environment variable {self.key_env} (judge.key_env) contains no usable key")
        return key


def secret_in(base_url: str) -> str:
    """Return what kind of secret an address contains, without quoting it: `a user name or password`, `a key`; empty for none."""
    with suppress(ValueError):
        parts = urlsplit(base_url)
        if parts.username is not None or parts.password is not None:
            return "a user name or password"
        if any(_SECRET.search(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
            return "a key"
    return ""


# Names of address parameters with keys.
_SECRET = re.compile(r"(?i)key|token|secret|password|^sig|^code$|^auth")
_KEYS_STAY_OUTSIDE = "a key is written nowhere: export it, and name the variable: key_env: MY_KEY"
# Providers with a batch API.
BATCHES = ("openai", "responses", "anthropic")
_TYPES = typing.get_type_hints(Settings)
_AT_LEAST = {
    "timeout_seconds": 0.001,
    **dict.fromkeys(("concurrency", "repeats", "most_chars"), 1),
    **dict.fromkeys(("requests_per_minute", "tokens_per_minute", "retries", "backoff_seconds"), 0),
    **dict.fromkeys(("price_per_1k_prompt", "price_per_1k_completion", "max_cost"), 0),
}


def read_settings(section: Mapping[str, Any], *, folder: Path | None = None) -> Settings:
    """Return the settings of a `judge:` section.

    Args:
        section: key -> value, the fields of `Settings`.
        folder: the gold folder; relative `prompts` and `cassette` are below it.

    Returns:
        The checked settings. A missing model is only an error when the judge is asked.

    Raises:
        UsageError: an unknown key or an invalid value.
    """
    values: dict[str, Any] = {}
    for key, value in section.items():
        value = "" if key == "cache" and value is False else value
        _check_setting(key, value)
        values[key] = tuple(value) if isinstance(value, list) else value
    if values.get("batch") and values.get("provider", "openai") not in BATCHES:
        raise UsageError(f"judge.batch: {values['provider']} has no batch API here", hint=f"supported for {', '.join(BATCHES)}")
    for key in ("prompts", "cassette"):
        if values.get(key) and folder is not None:
            values[key] = str(folder / values[key])
    return Settings(**values)


def _check_setting(key: str, value: Any) -> None:
    """Raise `UsageError` for an unknown key, or a value of the wrong type or range."""
    if key not in (keys := [f.name for f in fields(Settings)]):
        hint = _KEYS_STAY_OUTSIDE if _SECRET.search(str(key)) and not did_you_mean(str(key), keys).startswith("did") else ""
        raise UsageError(f"unknown key {key!r} in judge", hint=hint or did_you_mean(str(key), keys))
    if not registry.fits(value, _TYPES[key]):
        actual = "" if key == "key_env" else f", found {value!r}"
        choices = typing.get_args(_TYPES[key]) if typing.get_origin(_TYPES[key]) is Literal else ()
        hint = did_you_mean(str(value), choices) if choices else ""
        raise UsageError(f"judge.{key} must be {registry.readable(_TYPES[key])}{actual}", hint=hint)
    if key in _AT_LEAST and not _AT_LEAST[key] <= value < float("inf"):
        raise UsageError(f"judge.{key} must be at least {_AT_LEAST[key]:g}, found {value!r}")
    if (key == "key_env" and value and not value.isidentifier()) or (key == "base_url" and secret_in(value)):
        # Not quoted, because readers of the section may store the message.
        problem = "is not the name of an environment variable" if key == "key_env" else f"contains {secret_in(value)}"
        raise UsageError(f"judge.{key} {problem}", hint=_KEYS_STAY_OUTSIDE)
