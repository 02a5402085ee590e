"""What a run was made on: without it, figures mean nothing."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path


def machine() -> dict[str, object]:
    """Cores, memory, system and Python; and of which commit the code is that runs."""
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "commit": _commit(),
    }


def now() -> dict[str, object]:
    """The hour, and how busy the machine is."""
    return {"at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "load": round(os.getloadavg()[0], 1)}


def _commit() -> str:
    """Of the tree that this file is in, and whether anything there that runs is not committed."""
    root = Path(__file__).parents[1]

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True).stdout

    try:
        changed = git("status", "--porcelain", "--", "coalesce", "benchmarks", ":!benchmarks/results", ":!*.md")
        return git("rev-parse", "--short", "HEAD").strip() + (", with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    for line in described.read_text().splitlines() if described.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
