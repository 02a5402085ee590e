"""`python -m tests.mutants`: plant bugs one by one, and see whether the ordinary tests notice.

Each is planted in a copy of the tree, never in the tree itself. The exit code is 0 if nine in ten were caught, 1 if
fewer were, 2 if what was asked for makes no sense.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.mutant import Mutant
from tests.mutants.planted import MUTANTS
from tests.mutants.trial import Trial, copy_tree, try_mutant, without_a_bug

ROOT = Path(__file__).parents[2]
ENOUGH = 0.9


def main(arguments: Sequence[str]) -> int:
    """Run; see the module."""
    options = _parser().parse_args(arguments)
    chosen = [m for m in MUTANTS if not options.only or m.name.startswith(tuple(options.only))]
    unknown = [name for name in options.only or () if not any(m.name.startswith(name) for m in MUTANTS)]
    if unknown:
        _say(f"no mutant's name begins with {' or with '.join(unknown)}; there are:")
        for mutant in MUTANTS:
            _say(f"  {mutant.name}")
        return 2
    trials = run(chosen, max(1, options.jobs))
    if options.json:
        print(json.dumps([_as_json(trial) for trial in trials], indent=1))  # noqa: T201 - what was asked for
    else:
        _print_table(trials)
    caught = sum(trial.verdict == "caught" for trial in trials)
    return 0 if caught >= ENOUGH * len(trials) else 1


def run(mutants: Sequence[Mutant], jobs: int) -> list[Trial]:
    """Try the mutants, so many at a time, each of the workers in a copy of its own."""
    with tempfile.TemporaryDirectory(prefix="coalesce-mutants-") as directory:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            tree = Path(directory) / str(number)
            copy_tree(ROOT, tree)
            trees.put(tree)
        _say(f"running the tests of {len(mutants)} mutants without any of them …")
        tree = trees.get()
        sound = without_a_bug(tree, mutants)
        trees.put(tree)
        for test in (*sound.failed, *sound.errors):
            _say(f"  red without a bug: {test}")
        done = SimpleQueue[None]()

        def work(mutant: Mutant) -> Trial:
            tree = trees.get()
            try:
                trial = try_mutant(tree, mutant, sound)
            finally:
                trees.put(tree)
            done.put(None)
            _say(f"[{done.qsize()}/{len(mutants)}] {trial.verdict:7} {mutant.name}")
            return trial

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(work, mutants))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="only mutants whose names begin so")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at a time (2)")
    parser.add_argument("--json", action="store_true", help="the trials as JSON, for programs")
    return parser


def _print_table(trials: Sequence[Trial]) -> None:
    width = max(len(trial.mutant.name) for trial in trials)
    for trial in trials:
        print(f"{trial.verdict:8} {trial.mutant.name:{width}}  {trial.why}")  # noqa: T201 - what the command is for
    missed = [trial for trial in trials if trial.verdict != "caught"]
    for trial in missed:
        print(f"{trial.verdict}: {trial.mutant.name}: {trial.mutant.seen}")  # noqa: T201 - likewise
    named = f"; not caught: {', '.join(trial.mutant.name for trial in missed)}" if missed else ""
    print(f"{len(trials) - len(missed)} of {len(trials)} caught{named}")  # noqa: T201 - likewise


def _as_json(trial: Trial) -> dict[str, str]:
    mutant = trial.mutant
    return {
        "name": mutant.name,
        "file": mutant.file,
        "verdict": trial.verdict,
        "why": trial.why,
        "seen": mutant.seen,
    }


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
