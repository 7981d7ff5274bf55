"""How a judge is asked: the `judge:` section of suite.yaml checked key by key, and the prompts, filled in one pass."""

import hashlib
import os
import re
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from evalsuite.core import registry
from evalsuite.core.errors import FaultError, UsageError, did_you_mean

Message = Mapping[str, str]
BUNDLED = Path(__file__).parent / "prompts"
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_USER_LINE = re.compile(r"^\[user\][ \t]*\n", re.MULTILINE)
_CUT = " [... cut]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt's text. What stands before a line `[user]` is the system message; without such a line all is the user's."""

    name: str
    text: str

    @property
    def version(self) -> str:
        """`name@` and 8 digits of the text's hash: another text is another judge."""
        return f"{self.name}@{hashlib.sha256(self.text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"

    @property
    def placeholders(self) -> set[str]:
        """The names between `{{` and `}}`."""
        return set(_PLACEHOLDER.findall(self.text))

    def messages(self, fields: Mapping[str, str], *, most_chars: int = 60_000) -> tuple[Message, ...]:
        """The chat messages with every placeholder filled in; a field longer than `most_chars` is cut, visibly.

        `{{boundary}}` is a mark that no field holds, the same for the same fields.

        Raises:
            FaultError: the text has a placeholder that is no field.
        """
        unknown = sorted(self.placeholders - {*fields, "boundary"})
        if unknown:
            known = ", ".join(sorted(fields))
            raise FaultError("BAD_SPEC", f"the prompt {self.name!r} has the unknown placeholder {unknown[0]!r}; known: {known}")
        shown = {name: value if len(value) <= most_chars else value[:most_chars] + _CUT for name, value in fields.items()}
        # A mark out of the hash of all fields: an answer cannot hold it, because whoever wrote it does not know the reference.
        everything = "\0".join(shown[name] for name in sorted(shown))
        shown["boundary"] = hashlib.sha256(everything.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        system, user = self._parts()
        roles = (("system", system), ("user", user)) if system else (("user", user),)
        return tuple({"role": role, "content": _PLACEHOLDER.sub(lambda match: shown[match[1]], text)} for role, text in roles)

    def _parts(self) -> tuple[str, str]:
        parts = _USER_LINE.split(self.text, maxsplit=1)
        return (parts[0].strip(), parts[1].strip()) if len(parts) == 2 else ("", self.text.strip())


def read_prompt(name: str, folder: Path | None = None) -> Prompt:
    """The prompt `<name>.txt` of the user's folder where it is there, else the bundled one.

    Raises:
        FaultError: there is no such file, or it is not UTF-8.
    """
    if not re.fullmatch(r"[\w-]+", name):
        raise FaultError("BAD_SPEC", f"{name!r} is no name of a prompt", side="gold")
    for place in (*([folder] if folder is not None else []), BUNDLED):
        file = place / f"{name}.txt"
        if file.is_file():
            try:
                return Prompt(name=name, text=file.read_text(encoding="utf-8-sig"))
            except (OSError, UnicodeDecodeError):
                raise FaultError("BAD_SPEC", f"the prompt file {file.name} cannot be read as UTF-8", side="gold") from None
    known = ", ".join(sorted(file.stem for file in BUNDLED.glob("*.txt")))
    raise FaultError("BAD_SPEC", f"no prompt {name!r}; bundled ones: {known}", side="gold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Which judge to ask and how. Only `base_url` and a model are needed.

    Args:
        base_url: the endpoint up to `/chat/completions`, for example `https://api.example.org/v1`.
        provider: whose protocol it speaks; `openai` is its chat completions, which most servers have.
        model: the model to ask; `models` names several, each gives its own verdict.
        key_env: the environment variable that holds the key; empty: no key is sent. The key itself is never written anywhere.
        key_header: the header of the key, the provider's own if empty: `Authorization` sends `Bearer KEY`, any other one the bare key.
        timeout_seconds: how long one call may take, from connecting to the last byte.
        concurrency: how many calls may be under way at once; fewer while the endpoint says that it is asked too fast.
        batch: whether a run asks by the provider's batch API (openai, responses, anthropic): cheaper, and within a day.
        requests_per_minute: how many requests may go out in a minute, retries too; 0 sets no limit.
        tokens_per_minute: the same for the tokens of prompts and replies.
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
        max_cost: what a run may cost at most; what is left then is unscored. 0 sets no limit.
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
    cache: str = ".evalsuite/scorers/judge"
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
        """What of these settings moves a verdict, beside the models: in the signature of metrics. No address and no path."""
        more = ",".join(f"{key}={value}" for key, value in sorted(self.parameters.items()))
        return ",".join([self.aggregate, str(self.repeats), *([more] if more else [])])

    @property
    def verdict_line(self) -> str:
        """What of these settings moves a verdict, models first, as a part of a run's signature: no address, path, retry or price."""
        more = [f"{key}={self.parameters[key]!r}" for key in sorted(self.parameters)]
        if self.prompts_folder is not None:
            texts = [file.name.encode() + b"\0" + file.read_bytes() for file in sorted(self.prompts_folder.glob("*.txt"))]
            more.append("prompts=" + hashlib.sha256(b"\0".join(texts)).hexdigest()[:8])
        for key, usual in (("repeats", 1), ("aggregate", "auto"), ("most_chars", 60_000)):
            more += [f"{key}={getattr(self, key)}"] if getattr(self, key) != usual else []
        return ",".join(["+".join(self.all_models) or "no model", *more]).replace("|", "/")

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
        if held := secret_in(self.base_url):
            raise FaultError("NO_JUDGE", f"judge.base_url holds {held}; name an environment variable in judge.key_env")
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


def secret_in(base_url: str) -> str:
    """What of an address should not stand there, in words that do not quote it: `a user name or password`, `a key`; empty for nothing."""
    with suppress(ValueError):
        parts = urlsplit(base_url)
        if parts.username is not None or parts.password is not None:
            return "a user name or password"
        if any(_SECRET.search(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
            return "a key"
    return ""


# Names of parameters of an address whose values are keys.
_SECRET = re.compile(r"(?i)key|token|secret|password|^sig|^code$|^auth")
_KEYS_STAY_OUTSIDE = "a key is written nowhere: export it, and name the variable: key_env: MY_KEY"
# The providers whose batch API is known.
BATCHES = ("openai", "responses", "anthropic")
_TYPES = typing.get_type_hints(Settings)
_AT_LEAST = {
    "timeout_seconds": 0.001,
    "concurrency": 1,
    "requests_per_minute": 0,
    "tokens_per_minute": 0,
    "retries": 0,
    "backoff_seconds": 0,
    "repeats": 1,
    "most_chars": 1,
    "price_per_1k_prompt": 0,
    "price_per_1k_completion": 0,
    "max_cost": 0,
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
            hint = _KEYS_STAY_OUTSIDE if _SECRET.search(str(key)) and not did_you_mean(str(key), known).startswith("did") else ""
            raise UsageError(f"unknown key {key!r} in judge", hint=hint or did_you_mean(str(key), known))
        if key == "cache" and value is False:
            value = ""
        if not registry.fits(value, _TYPES[key]):
            found = "" if key == "key_env" else f", found {value!r}"
            choices = typing.get_args(_TYPES[key]) if typing.get_origin(_TYPES[key]) is Literal else ()
            hint = did_you_mean(str(value), choices) if choices else ""
            raise UsageError(f"judge.{key} must be {registry.readable(_TYPES[key])}{found}", hint=hint)
        if key in _AT_LEAST and not _AT_LEAST[key] <= value < float("inf"):
            raise UsageError(f"judge.{key} must be at least {_AT_LEAST[key]:g}, found {value!r}")
        if (key == "key_env" and value and not value.isidentifier()) or (key == "base_url" and secret_in(value)):
            # Not quoted: what reads the section writes it down, too.
            held = "is no name of an environment variable" if key == "key_env" else f"holds {secret_in(value)}"
            raise UsageError(f"judge.{key} {held}", hint=_KEYS_STAY_OUTSIDE)
        given[key] = tuple(value) if isinstance(value, list) else value
    if given.get("batch") and given.get("provider", "openai") not in BATCHES:
        raise UsageError(f"judge.batch: {given['provider']} is asked without batches", hint=f"they are known of {', '.join(BATCHES)}")
    for key in ("prompts", "cassette"):
        if given.get(key) and folder is not None:
            given[key] = str(folder / given[key])
    return Settings(**given)
