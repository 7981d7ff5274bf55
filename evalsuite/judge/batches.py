"""A provider's batch API as a desk: what is asked there waits, goes out together, and is answered when the batch is done.

Who asks first is told to wait, and asks again once `settle` came back. What is under way is noted in a file, so that a run which was killed
looks for its batches again and sends nothing twice.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from evalsuite.errors import FaultError
from evalsuite.judge.endpoint import Endpoint
from evalsuite.judge.providers import BatchApi
from evalsuite.judge.transport import Reply, Request

log = logging.getLogger(__name__)
# Below what each provider takes in one batch (OpenAI: 50,000 and 200 MB; Anthropic: 100,000 and 256 MB).
MOST_REQUESTS, MOST_BYTES = 20_000, 100 << 20
_LONGEST_RESULTS, _LONGEST_PAUSE = 1 << 30, 60.0
# What came of a batch whose provider says no more of it.
_GONE: Final = frozenset({400, 401, 403, 404, 410})


class Desk:
    """Where requests wait for a batch. `n_told_to_wait` counts those who asked for what is not there yet.

    Args:
        endpoint: whose key, address and retries are used.
        api: the provider's batches.
        file: what is under way, a JSON list of {id, keys}; None notes nothing.
    """

    def __init__(self, endpoint: Endpoint, api: BatchApi, file: Path | None) -> None:
        self._endpoint, self._api, self._file = endpoint, api, file
        self._wanted: dict[str, Request] = {}
        self._replies: dict[str, Reply] = {}
        self._failed: dict[str, str] = {}
        self.n_told_to_wait = 0

    def reply(self, request: Request) -> Reply:
        """The reply that a batch brought; `known` from the second time on. Raises `FaultError`: wait, or why there is none."""
        key = request.key()
        if (found := self._replies.get(key)) is not None:
            self._replies[key] = replace(found, known=True)
            return found
        if key in self._failed:
            raise FaultError("JUDGE_FAILED", self._failed[key])
        self._wanted[key] = request
        self.n_told_to_wait += 1
        raise FaultError("JUDGE_FAILED", "waits for a batch")

    def settle(self) -> None:
        """Have all that waits answered: with what is under way, the rest by new batches. Takes as long as the provider does."""
        under_way = self._noted()
        sent = {key for batch in under_way for key in batch["keys"]}
        for some in _portions([request for key, request in self._wanted.items() if key not in sent], self._endpoint.provider.body):
            try:
                under_way.append({"id": self._api.start(self._endpoint.call, self._endpoint.settings.base_url, some), "keys": list(some)})
            except FaultError as error:
                self._failed |= dict.fromkeys(some, error.fault.detail)
            except (ValueError, LookupError, TypeError):
                self._failed |= dict.fromkeys(some, "the provider's answer to a batch is none")
            self._note(under_way)
        for batch in list(under_way):
            if self._collected(batch):
                under_way.remove(batch)
                self._note(under_way)
        for key in self._wanted.keys() - self._replies.keys() - self._failed.keys():
            self._failed[key] = "the batch gave no reply to it"
        self._wanted.clear()

    def _collected(self, batch: Mapping[str, Any]) -> bool:
        """Whether there is no more to come of a batch, whose replies are taken in."""
        pause, why = self._endpoint.settings.backoff_seconds, ""
        try:
            while not (state := self._api.look(self._endpoint.call, self._endpoint.settings.base_url, batch["id"])).is_over:
                log.info("batch %s: %d requests wait", batch["id"], len(batch["keys"]))
                if self._endpoint.pause(pause):
                    raise FaultError("JUDGE_FAILED", "the run was ended before the judge replied")
                pause = min(_LONGEST_PAUSE, 2 * pause)
            why = self._endpoint.hidden(state.why)
            for place in state.places:
                for line in self._endpoint.call("GET", place, most_bytes=_LONGEST_RESULTS).body.splitlines():
                    with suppress(ValueError, LookupError, TypeError, AttributeError):
                        self._take(*self._api.line(json.loads(line)))
        except FaultError as error:
            self._failed |= {key: error.fault.detail for key in batch["keys"] if key not in self._replies}
            return any(f"HTTP {status}" in error.fault.detail for status in _GONE)
        except (ValueError, LookupError, TypeError, AttributeError):
            why = "the provider's answer to a batch is none"
        self._failed |= {key: why for key in batch["keys"] if why and key not in self._replies and key not in self._failed}
        return True

    def _take(self, key: str, body: object, why: str) -> None:
        reply = None if why else self._endpoint.read(body)
        if reply is not None:
            self._replies[key] = reply
        else:
            self._failed[key] = self._endpoint.hidden(why) or f"the reply is none of {self._endpoint.settings.provider}'s"

    def _noted(self) -> list[dict[str, Any]]:
        """What was under way when the run was killed; a file that is broken says nothing."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            if self._file is not None:
                return [{"id": str(one["id"]), "keys": list(one["keys"])} for one in json.loads(self._file.read_bytes())]
        return []

    def _note(self, under_way: Sequence[Mapping[str, Any]]) -> None:
        if self._file is None:
            return
        if not under_way:
            self._file.unlink(missing_ok=True)
            return
        beside = self._file.with_name(f".{self._file.name}.part")
        beside.write_text(json.dumps(under_way), encoding="utf-8")
        beside.replace(self._file)


def _portions(requests: Sequence[Request], body_of: Any) -> Iterator[dict[str, dict[str, Any]]]:
    """The requests as {key: body}, of one model each and no more than a batch takes."""
    for model in dict.fromkeys(request.model for request in requests):
        bodies = ((request.key(), body_of(request)) for request in requests if request.model == model)
        while some := dict(islice(bodies, MOST_REQUESTS)):
            while some:
                size, part = 0, dict[str, dict[str, Any]]()
                for key, body in some.items():
                    size += len(json.dumps(body))
                    if part and size > MOST_BYTES:
                        break
                    part[key] = body
                yield part
                some = {key: body for key, body in some.items() if key not in part}
