"""The fuzz targets on their seeds and on damaged copies: the short run that needs no atheris."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import targets

ROOT = Path(__file__).parents[2]
NUMBERS = [0, 1, 0x7F, 0xFF, 2**31, 2**32 - 1, 2**60, 2**63, 2**64 - 1]
TOKENS = [
    b'"dtype":',
    b'"shape":',
    b'"data_offsets":',
    b'"F32"',
    b'"BF16"',
    b"[0,4]",
    b"-1",
    b"1e9",
    b"[[[[",
    b"null",
    b"9223372036854775808",
]


def damaged(data: bytes, generator: random.Random) -> bytes:
    """One to four changes: a byte, a number of the kind that overflows, a word of a header, a part left out or twice, the end cut off."""
    changed = bytearray(data)
    for _ in range(generator.randint(1, 4)):
        place = generator.randrange(max(len(changed), 1))
        length = generator.randint(1, 40)
        kind = generator.randrange(6)
        if kind == 0:
            changed[place : place + 1] = bytes([generator.randrange(256)])
        elif kind == 1:
            changed[place : place + 8] = generator.choice(NUMBERS).to_bytes(8, "little")
        elif kind == 2:
            changed[place:place] = generator.choice(TOKENS)
        elif kind == 3:
            del changed[place : place + length]
        elif kind == 4:
            changed[place:place] = changed[place : place + length]
        elif generator.randrange(8) == 0:
            del changed[place:]
    return bytes(changed)


@pytest.mark.case(71)
@pytest.mark.parametrize("name", targets.TARGETS)
def test_damaged_files_are_a_result_or_one_error(name: str) -> None:
    generator = random.Random(name)
    seeds = sorted((ROOT / targets.SEEDS[name]).iterdir())
    assert len(seeds) >= 3
    refused = 0
    for seed in seeds:
        data = seed.read_bytes()
        assert targets.run(name, data), f"{seed} must be a good file"
        refused += sum(not targets.run(name, damaged(data, generator)) for _ in range(1500))
    assert refused > 500 * len(seeds), "hardly anything was damaged"


@pytest.mark.case(71)
def test_seeds_are_small() -> None:
    folders = {ROOT / folder for folder in targets.SEEDS.values()} | {
        ROOT / "native" / "test" / "seeds" / name for name in ("gguf", "model")
    }
    assert sum(path.stat().st_size for folder in folders for path in folder.iterdir()) < 100_000
