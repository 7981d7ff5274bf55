"""Azure OpenAI: chat completions of a deployment, whose name is the model, with its own key header."""

from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

from evalsuite.scorers.judge.providers import Provider, below
from evalsuite.scorers.judge.providers.openai_chat import body, read

API_VERSION = "2024-10-21"


def address(base_url: str, model: str) -> str:
    """Return the address of the deployment's chat completions, from a resource (`https://NAME.openai.azure.com`) or a longer address.

    The API version is taken from the address, by default the last stable one; the newer `/openai/v1` has no version.
    """
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    if path.endswith("/openai/v1") or "/deployments/" in path:
        whole = below(base_url, "/chat/completions")
    else:
        path = path.removesuffix("/openai")
        whole = urlunsplit(parts._replace(path=f"{path}/openai/deployments/{quote(model, safe='')}/chat/completions", fragment=""))
    parts = urlsplit(whole)
    if "/openai/v1/" in parts.path or "api-version" in parse_qs(parts.query):
        return whole
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, f"api-version={API_VERSION}")))))


PROVIDER = Provider(address=address, body=body, read=read, key_header="api-key", limit_key=("max_tokens", "max_completion_tokens"))
