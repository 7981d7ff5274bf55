"""Names as people give them, and the folders they become: a slug that can never leave its folder."""

import hashlib
import re
import unicodedata

MAX_SLUG = 60


def slug(name: str) -> str:
    """A folder name for any non-empty name: lower-case ASCII letters, digits and hyphens, never empty, never a path.

    Two names that look alike as slugs keep apart by a hash, where the slug loses anything but case and spaces.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    text = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG].strip("-")
    lossless = re.fullmatch(r"[A-Za-z0-9 _-]+", name) is not None and len(name) <= MAX_SLUG and bool(text)
    if lossless:
        return text
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{text}-{mark}" if text else mark
