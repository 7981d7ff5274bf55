"""Seeded byte mutations of good files; a DuckDB file's checksums are set right again, so that the damage is read and not refused."""

import random
import struct

_HEADER, _N_HEADERS = 4096, 3
BLOCK = 262_144
_MULTIPLIER, _SEED = 0xBF58476D1CE4E5B9, 5381
_HOSTILE = b"\x00\xff,\"\n\r\t;'\\{}[]:0-.eE\x80\x1b"


def mutate(data: bytes, rng: random.Random) -> bytes:
    """The data with one to four bytes changed, put in or taken out; never the data itself."""
    out = bytearray(data)
    while out == data:
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(out))
            kind = rng.random()
            byte = rng.choice(_HOSTILE) if rng.random() < 0.5 else rng.randrange(256)
            if kind < 0.6:
                out[at] = byte
            elif kind < 0.8:
                out.insert(at, byte)
            else:
                del out[at]
    return bytes(out)


def mutate_duckdb(data: bytes, rng: random.Random) -> bytes:
    """A DuckDB file with one to eight changed bytes, nine in ten near bytes that say something, and right checksums."""
    out = bytearray(data)
    busy = [at for at, byte in enumerate(data) if byte]
    for _ in range(rng.randint(1, 8)):
        at = rng.choice(busy) + rng.randint(-2, 2) if rng.random() < 0.9 else rng.randrange(len(out))
        # The first block of 4 KiB names the format: past its magic and version nothing in it is worth much.
        at = min(max(at, 8), len(out) - 1)
        out[at] = rng.choice((rng.randrange(256), out[at] ^ (1 << rng.randrange(8)), 0, 255))
    return repair_checksums(out)


def craft_duckdb(data: bytes, rng: random.Random) -> bytes:
    """A DuckDB file whose lengths, counts and pointers say what cannot be: huge, exchanged, or blank; with right checksums."""
    out = bytearray(data)
    busy = [at for at, byte in enumerate(data) if byte and at > 12]
    for _ in range(rng.randint(1, 4)):
        at, other, n = rng.choice(busy), rng.choice(busy), rng.choice((2, 4, 8, 64, 300))
        words = [rng.choice((0, 1, 2, 255, 4096, BLOCK, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1)).to_bytes(8, "little")]
        words += [words[0][:4], bytes(out[other : other + n]), bytes(n), b"\xff" * n, rng.randbytes(n)]
        piece = rng.choice(words)[: len(out) - at]
        out[at : at + len(piece)] = piece
    return repair_checksums(out)


def repair_checksums(data: bytes | bytearray) -> bytes:
    """The file with the checksum of each header (4 KiB) and block (256 KiB) set: each begins with it, eight bytes little-endian."""
    out = bytearray(data)
    parts = [(n * _HEADER, _HEADER) for n in range(_N_HEADERS)]
    parts += [(at, BLOCK) for at in range(_N_HEADERS * _HEADER, len(out), BLOCK)]
    for at, size in parts:
        struct.pack_into("<Q", out, at, checksum(bytes(out[at + 8 : at + size])))
    return bytes(out)


def checksum(content: bytes) -> int:
    """DuckDB's checksum of a block: the seed, and every 64-bit word times a constant, joined by exclusive or."""
    import numpy as np

    words = np.frombuffer(content[: len(content) // 8 * 8], dtype="<u8")
    with np.errstate(over="ignore"):
        return int(np.bitwise_xor.reduce(words * np.uint64(_MULTIPLIER)) ^ np.uint64(_SEED)) if len(words) else _SEED
