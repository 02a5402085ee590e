"""The picture of growth: the time of a point plan against the number of files."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt


def draw(path: Path, warm: Mapping[int, float], cold: Mapping[int, float]) -> None:
    """One line for a table that is open, one for a fresh process; both axes logarithmic."""
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for label, times, marker in (("first plan of a fresh process", cold, "s"), ("plan on an open table", warm, "o")):
        files = sorted(times)
        axes.plot(files, [times[n] for n in files], marker=marker, label=label)
        for n in files:
            text = f"{times[n]:.0f} ms" if times[n] >= 10 else f"{times[n]:.2f} ms"
            axes.annotate(text, (n, times[n]), textcoords="offset points", xytext=(0, 8), ha="center", fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="files in the table", ylabel="milliseconds")
    axes.set_title("planning dt = … AND app = … as the table grows", fontsize=10)
    axes.set_xticks(sorted(warm), [f"{n:,}" for n in sorted(warm)])
    axes.set_ylim(0.1, 1000)
    axes.set_yticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1,000"])
    axes.minorticks_off()
    axes.margins(x=0.12)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8, loc="center left")
    figure.savefig(path, dpi=110)
    plt.close(figure)
