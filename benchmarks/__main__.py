"""`python -m benchmarks`: list what there is, run a workload on several engines, compare two runs, draw pictures.

The measures of the library alone go by their names: `python -m benchmarks planning --quick`.
"""

import argparse
import ast
import importlib.util
import math
import os
import pkgutil
import runpy
import signal
import sys
from pathlib import Path

from benchmarks import measures, workload
from benchmarks.engines.registry import ENTRIES, OURS, chosen
from benchmarks.harness import RESULTS
from benchmarks.workload import Refused


def main(arguments: list[str]) -> int:
    """Run a command, or a measure by its name."""
    if arguments and arguments[0] in _measures():
        name = arguments[0]
        sys.argv = [f"python -m benchmarks {name}", *arguments[1:]]
        try:
            runpy.run_module(f"benchmarks.measures.{name}", run_name="__main__", alter_sys=True)
        except KeyboardInterrupt:
            print("benchmarks: interrupted; nothing is kept of it.", file=sys.stderr)
            return 130
        return 0
    asked = _parser().parse_args(arguments or ["list"])
    try:
        return int(asked.command(asked))
    except Refused as reason:
        print(f"benchmarks: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "benchmarks: interrupted; of engines that were through, a file that ends in .partial tells.",
            file=sys.stderr,
        )
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="list | run | compare | join | plot | report | MEASURE")
    commands.add_parser("list", help="workloads, engines and measures").set_defaults(command=_list)
    run = commands.add_parser("run", help="run a workload on several engines")
    run.add_argument("workload", help="its name, as `list` shows it; or `all`, each in its default size")
    run.add_argument("--size", help="which form of it, as `list` shows them")
    run.add_argument("--engines", help="some only, with commas between (all that suit the workload)")
    run.add_argument("--rounds", type=_at_least_one, default=1, help="how often the engines take turns (once)")
    run.add_argument(
        "--out", type=Path, help="the file for the outcome (results/WORKLOAD-SIZE.json if all engines run)"
    )
    run.add_argument("--directory", type=Path, help="work here, and keep the staged rows for the next run")
    run.set_defaults(command=_run)
    compare = commands.add_parser("compare", help="two outcomes side by side; fails if ratios are apart")
    compare.add_argument("one", type=Path)
    compare.add_argument("other", type=Path)
    compare.add_argument("--within", type=_share, default=0.2, help="how far apart ratios may be (0.2)")
    compare.set_defaults(command=_compare)
    join = commands.add_parser("join", help="make one outcome of several, of other engines each")
    join.add_argument("outcomes", type=Path, nargs="+")
    join.add_argument("--out", type=Path, required=True, help="the file for it")
    join.set_defaults(command=_join)
    plot = commands.add_parser("plot", help="draw pictures of outcomes")
    plot.add_argument("outcomes", type=Path, nargs="*", help="files of outcomes (all of results/)")
    plot.add_argument("--out", type=Path, default=RESULTS, help="the directory for the pictures (results/)")
    plot.set_defaults(command=_plot)
    commands.add_parser("report", help="write RESULTS.md from the outcomes in results/").set_defaults(command=_report)
    return parser


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share such as 0.2")
    return number


def _measures() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(measures.__path__))


def _list(_: argparse.Namespace) -> int:
    loaded = [workload.load(name) for name in workload.names()]
    print("workloads, for `run`:\n")
    for one in loaded:
        sizes = ", ".join(f"{name}{'*' if name == one.default else ''}" for name in one.sizes)
        print(f"  {one.name.ljust(16)}{one.purpose}\n{' ' * 18}sizes: {sizes}")
    print("\nengines:\n")
    for name, entry in ENTRIES.items():
        reason = entry.unavailable()
        print(f"  {name.ljust(22)}{entry.configuration() if reason is None else f'cannot be had: {reason}'}")
    print("\nmeasures, by `python -m benchmarks NAME`:\n")
    for name in _measures():
        print(f"  {name.ljust(16)}{_purpose(name)}")
    return 0


def _purpose(measure: str) -> str:
    """The first line of its docstring, out of the source: nothing it needs is imported for that."""
    found = importlib.util.find_spec(f"benchmarks.measures.{measure}")
    assert found is not None
    assert found.origin is not None
    return (ast.get_docstring(ast.parse(Path(found.origin).read_text())) or "").partition("\n")[0]


def _run(asked: argparse.Namespace) -> int:
    from benchmarks import ratios
    from benchmarks.run import chosen_by, run

    every = asked.workload == "all"
    if every and (asked.size is not None or asked.out is not None):
        raise Refused("all workloads run in their default sizes, to files of their own: leave out --size and --out.")
    whats = [workload.load(name) for name in (workload.names() if every else [asked.workload])]
    names = None if asked.engines is None else [name.strip() for name in asked.engines.split(",")]
    # Everything that can be refused is refused before anything runs.
    plans = [(what, what.named(asked.size), chosen(chosen_by(what.size(asked.size), names))) for what in whats]
    for what in whats:
        chosen([*what.size(asked.size).engines, *(what.size(asked.size).together or ())])
    if names is not None and asked.out is None:
        raise Refused("some engines only: say with --out where to, so that the outcome of all is not overwritten.")
    if asked.out is not None:
        _check_out(asked.out)
    if asked.directory is not None:
        _make_directory(asked.directory)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whatever runs is ended, and what lies about removed
    differ = False
    for what, size, entries in plans:
        out = asked.out or RESULTS / f"{what.name}-{size}.json"
        outcome = run(what, size, entries, rounds=asked.rounds, directory=asked.directory, out=out)
        print(ratios.markdown(outcome))
        print(f"kept in {out}", file=sys.stderr)
        for text in outcome.failures():
            print(f"benchmarks: {text}", file=sys.stderr)
        ours = [text for text in outcome.failures() if text.partition(",")[0] in OURS.values()]
        differ = differ or bool(outcome.disagreements() or ours)
    return 1 if differ else 0


def _check_out(path: Path) -> None:
    """Hours later, what was found has to have a place."""
    if path.is_dir():
        raise Refused(f"{path} is a directory; --out takes the name of a file.")
    _make_directory(path.parent)
    there = path.exists()
    try:
        path.open("a").close()
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}.") from error
    if not there:
        path.unlink()


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{path} cannot be made a directory: {error.strerror}.") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise Refused(f"{path} is a directory that cannot be written to.")


def _compare(asked: argparse.Namespace) -> int:
    from benchmarks.compare import compared
    from benchmarks.outcome import load

    table, apart = compared(load(asked.one), load(asked.other), asked.within)
    print(table)
    for text in apart:
        print(f"not within {asked.within:.0%}: {text}", file=sys.stderr)
    return 1 if apart else 0


def _join(asked: argparse.Namespace) -> int:
    from benchmarks import ratios
    from benchmarks.outcome import joined, load

    _check_out(asked.out)
    outcome = joined([load(path) for path in asked.outcomes])
    outcome.save(asked.out)
    print(ratios.markdown(outcome))
    return 1 if outcome.disagreements() else 0


def _plot(asked: argparse.Namespace) -> int:
    from benchmarks.pictures import draw_all

    _make_directory(asked.out)
    made = draw_all(asked.outcomes, asked.out)
    if not made:
        raise Refused("nothing to draw: a picture needs our figures and those of another engine of the same kind.")
    for path in made:
        print(path)
    return 0


def _report(_: argparse.Namespace) -> int:
    from benchmarks.page import write

    print(write())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
