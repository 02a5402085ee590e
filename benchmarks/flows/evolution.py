"""A table that begins by day, is laid out by day and bucket half-way, and goes on: queries see both kinds of files."""

from functools import partial

from benchmarks.flows.steps import Steps
from benchmarks.staged import Staged
from benchmarks.workload import Size, Workload


def use(workload: Workload, size: Size, staged: Staged, steps: Steps) -> None:
    """The first half by day, the change, the second half, questions; the old half is moved, and questions again."""
    engine = steps.engine
    steps.notes.versions(engine.versions())
    queries = {query.name: staged.asks(query) for query in workload.asked(size)}
    engine.create("warm", staged.warm, by=("dt",))
    for forms in queries.values():
        engine.query(forms[0])
    engine.append(staged.append(0))
    steps.once("first half: write", lambda: engine.create("main", staged.source, by=("dt",)), "s")
    steps.once("change of layout", partial(engine.change_spec, "bucket(8, app)"))
    steps.each("second half: an append", [partial(engine.append, staged.append(i)) for i in range(staged.appends)])
    steps.footprint(", mixed")
    for name, forms in queries.items():
        steps.queries({f"{name}, mixed": forms})
    if steps.once("old files to the new layout", engine.compact, "s"):
        steps.footprint(", moved")
        for name, forms in queries.items():
            steps.queries({f"{name}, moved": forms})
