"""Which tenant each row belongs to: the shapes of skew a workload can name, and what tenants are called.

Both are decided by the seed and the number of the chunk alone, so that a row is the same in every run, and so that the
census can be taken before any row is written.
"""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.workload import Refused, Size

# The package whose counts are the tenants of the workload `real`: downloads of every package of npm, in a month.
PACKAGE: Final = "download-counts@2.20260301.0"
_FETCHED: Final = Path(__file__).parent.parent / "build" / "peers" / "npm"
_GIANT: Final = 0.9  # of all rows, in the one tenant that is a giant

Numbers = npt.NDArray[np.int64]


def tenants_of_chunk(size: Size, seed: int, chunk: int, rows: int) -> Numbers:
    """A tenant's number for each row of a chunk; the smallest number is the largest tenant."""
    random = np.random.default_rng([seed, chunk, 1])
    chance = random.random(rows)
    if size.skew == "zipf":
        numbers: Numbers = np.exp(chance * np.log(size.tenants + 1)).astype(np.int64) - 1
        return np.minimum(numbers, size.tenants - 1)
    if size.skew == "uniform":
        return (chance * size.tenants).astype(np.int64)
    if size.skew == "giant":
        others = 1 + (random.random(rows) * (size.tenants - 1)).astype(np.int64)
        return np.where(chance < _GIANT, 0, np.minimum(others, size.tenants - 1))
    weights = np.cumsum([count for _, count in downloads(size.tenants, seed)])
    found: Numbers = np.searchsorted(weights, chance * weights[-1], side="right").astype(np.int64)
    return found


def names(size: Size, seed: int) -> list[str]:
    """What each tenant is called, by number."""
    if size.skew == "npm-downloads":
        return [name for name, _ in downloads(size.tenants, seed)]
    return [f"app-{number:06d}" for number in range(size.tenants)]


@cache
def downloads(tenants: int, seed: int) -> list[tuple[str, int]]:
    """Some packages of npm, drawn by chance, and how often each was downloaded; the most popular first."""
    counts: dict[str, int] = json.loads(_counts().read_text())
    known = sorted(name for name, count in counts.items() if count > 0 and "'" not in name)
    if tenants > len(known):
        raise Refused(f"{PACKAGE} has {len(known):,} packages, fewer than the {tenants:,} tenants asked for.")
    drawn = np.random.default_rng([seed, 2]).choice(len(known), tenants, replace=False)
    return sorted(((known[i], counts[known[i]]) for i in drawn), key=lambda pair: (-pair[1], pair[0]))


def _counts() -> Path:
    """The file with the counts; npm fetches it the first time."""
    inside = _FETCHED / "node_modules" / PACKAGE.partition("@")[0] / "counts.json"
    if inside.exists():
        return inside
    if shutil.which("npm") is None:
        raise Refused(f"the public data set {PACKAGE} cannot be had: there is no npm to fetch it with.")
    _FETCHED.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(_FETCHED), PACKAGE]
    ran = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode != 0 or not inside.exists():
        said = (ran.stderr or ran.stdout).strip().partition("\n")[0] or "it has no counts.json"
        raise Refused(f"the public data set {PACKAGE} cannot be had: {said}")
    return inside
