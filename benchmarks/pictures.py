"""`plot`: outcomes as pictures: ratios of each engine, growth with logical partitions, degradation by appends."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.engines.registry import ENTRIES, OURS
from benchmarks.harness import RESULTS
from benchmarks.outcome import Outcome, load
from benchmarks.ratios import missing, times
from benchmarks.workload import Refused, names

# What a picture of ratios shows: the figures that a user would ask for first.
_SHOWN: Final = (
    "write",
    "files",
    "metadata",
    "plan, cold",
    "plan, warm",
    "point, small tenant",
    "small tenant, all days",
    "one day",
    "aggregate of everything",
    "overwrite one small partition",
    "delete one tenant everywhere",
    "MERGE of 1,000 rows of a tenant",
    "MERGE of 1,000 rows of a day",
)
_GROWING: Final = {
    "files": "files",
    "metadata": "metadata, KB",
    "plan, cold": "first plan of a process, ms",
    "plan, warm": "plan, ms",
    "point, small tenant": "point query, ms",
    "write": "write, s",
}
_DEGRADING: Final = {
    "append": "an append of 1,000 rows, ms",
    "files": "files",
    "point, small tenant": "point query, ms",
    "aggregate of everything": "aggregate of everything, ms",
}
_MARKERS: Final = "osD^v<>pPX*h"


def kept(directory: Path = RESULTS) -> list[Outcome]:
    """The outcomes in a directory; what lies there besides is that of the measures."""
    known = names()
    return [load(path) for path in sorted(directory.glob("*.json")) if path.stem.rpartition("-")[0] in known]


def draw_all(paths: Sequence[Path], directory: Path) -> list[Path]:
    """Every picture that some outcomes give, in a directory."""
    outcomes = [load(path) for path in paths] if paths else kept()
    if not outcomes:
        raise Refused("there is no outcome to draw; `run` makes one.")
    directory.mkdir(parents=True, exist_ok=True)
    made = []
    for outcome in outcomes:
        if any(" @" in figure for found in outcome.engines.values() for figure in found.figures):
            made.append(_degradation(outcome, directory))
        elif outcome.workload != "growth":
            made += [path for spark in (True, False) if (path := _ratios(outcome, spark, directory)) is not None]
    growth = [outcome for outcome in outcomes if outcome.workload == "growth"]
    if len(growth) > 1:
        made.append(_growth(growth, directory))
    return made


def _ratios(outcome: Outcome, spark: bool, directory: Path) -> Path | None:
    """A small chart for each figure, a bar for each engine; ours is the line at 1."""
    ours = OURS[spark]
    there = [name for name, found in outcome.engines.items() if ENTRIES[name].spark is spark and found.figures]
    if ours not in there or len(there) < 2:
        return None
    base = outcome.engines[ours]
    shown = [figure for figure in _SHOWN if base.value(figure)]
    others = [name for name in there if name != ours]
    columns = 3
    rows = -(-len(shown) // columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(4 * columns, 0.8 + rows * (0.7 + 0.2 * len(others))),
        layout="constrained",
        squeeze=False,
    )
    for place, axes in enumerate(grid.flat):
        if place >= len(shown):
            axes.axis("off")
            continue
        _bars(
            axes,
            shown[place],
            {name: times(outcome.engines[name], base, shown[place]) for name in others},
            {name: missing(outcome.engines[name], shown[place]).strip("*") for name in others},
        )
        axes.tick_params(axis="y", labelleft=place % columns == 0)
    figure.suptitle(
        f"{outcome.workload}, {outcome.rows:,} rows, {outcome.partitions:,} logical partitions: times {ours}'s\n"
        "to the right: more than ours; to the left, in red: less",
        fontsize=10,
    )
    path = directory / f"{outcome.workload}-{outcome.size}{'' if spark else '-direct'}.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


def _bars(axes: Any, title: str, others: Mapping[str, float | None], words: Mapping[str, str]) -> None:
    labels, ratios = [*others][::-1], [*others.values()][::-1]
    widths = [1.0 if factor is None or factor <= 0 else factor for factor in ratios]
    colours = ["tab:red" if width < 1 else "tab:blue" for width in widths]
    axes.barh(range(len(labels)), [width - 1 for width in widths], left=1, color=colours, height=0.7)
    axes.set_xscale("log")
    least, most = min([*widths, 0.8]), max([*widths, 1.25])
    axes.set_xlim(least / 1.6, most * 2.2)
    for place, (name, factor, width) in enumerate(zip(labels, ratios, widths, strict=True)):
        exact = f"{factor:,.0f}×" if (factor or 0) >= 10 else f"{factor:.1f}×" if factor else "none"
        text = (words[name] or "not measured") if factor is None else exact
        axes.annotate(text, (max(width, 1), place), textcoords="offset points", xytext=(3, -3), fontsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    axes.tick_params(axis="x", labelsize=7)
    axes.minorticks_off()
    axes.set_title(title, fontsize=9)


def _growth(outcomes: Sequence[Outcome], directory: Path) -> Path:
    """A line for each engine on Spark, against the number of logical partitions."""

    def points(engine: str, figure: str) -> list[tuple[float, float]]:
        found = [(o.partitions, o.engines[engine].value(figure)) for o in outcomes if engine in o.engines]
        return sorted((at, value) for at, value in found if value)

    return _lines(directory / "growth.png", outcomes, _GROWING, points, "logical partitions", log=True)


def _degradation(outcome: Outcome, directory: Path) -> Path:
    """A line for each engine, against the number of appends."""

    def points(engine: str, figure: str) -> list[tuple[float, float]]:
        found = outcome.engines[engine].figures
        pattern = re.compile(rf"{re.escape(figure)} @(\d+)")
        matched = [(pattern.fullmatch(name), name) for name in found]
        return sorted((int(m[1]), outcome.engines[engine].value(name) or 0) for m, name in matched if m)

    path = directory / f"{outcome.workload}-{outcome.size}.png"
    titles = {**_DEGRADING, **{f"maintained: {name}": f"maintained: {title}" for name, title in _DEGRADING.items()}}
    return _lines(path, [outcome], titles, points, "appends", log=False, columns=4)


def _lines(
    path: Path,
    outcomes: Iterable[Outcome],
    titles: dict[str, str],
    points: Callable[[str, str], list[tuple[float, float]]],
    across: str,
    *,
    log: bool,
    columns: int = 3,
) -> Path:
    engines = list(dict.fromkeys(name for o in outcomes for name, found in o.engines.items() if found.figures))
    rows = -(-len(titles) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(4 * columns, 3.1 * rows), layout="constrained", squeeze=False)
    for axes, (name, title) in zip(grid.flat, titles.items(), strict=False):
        for number, engine in enumerate(engines):
            if there := points(engine, name):
                wide = 2.2 if engine in OURS.values() else 1.0
                marker, colour = _MARKERS[number % len(_MARKERS)], f"C{number % 10}"
                axes.plot(
                    *zip(*there, strict=True), marker=marker, label=engine, linewidth=wide, color=colour, markersize=4
                )
        axes.set_title(title, fontsize=9)
        axes.set_xlabel(across, fontsize=8)
        axes.set_yscale("log")
        if log:
            axes.set_xscale("log")
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path
