"""`report`: `RESULTS.md`, from the outcomes in `results/` and a preface that is written by hand."""

from pathlib import Path
from typing import Final

from benchmarks.harness import RESULTS
from benchmarks.outcome import Outcome
from benchmarks.pictures import kept
from benchmarks.ratios import markdown
from benchmarks.workload import Refused, load

PAGE: Final = Path(__file__).parent / "RESULTS.md"
PREFACE: Final = Path(__file__).parent / "results" / "preface.md"
# The order of the page; in each, sizes by rows.
_ORDER: Final = (
    "saas-events",
    "many-tenants",
    "growth",
    "small-appends",
    "payments",
    "uniform",
    "adversarial",
    "real",
)


def write() -> Path:
    """Write the page."""
    outcomes = sorted(kept(), key=lambda o: (_ORDER.index(o.workload), o.rows, o.partitions, o.size))
    if not outcomes:
        raise Refused("there is no outcome in results/ to report; `run` makes one.")
    parts = [PREFACE.read_text().rstrip(), *map(section, outcomes), _configurations(outcomes)]
    PAGE.write_text("\n\n".join(parts) + "\n")
    return PAGE


def section(outcome: Outcome) -> str:
    """What the page has of one outcome."""
    picture = RESULTS / f"{outcome.workload}-{outcome.size}.png"
    workload = load(outcome.workload)
    size, said = workload.sizes.get(outcome.size), f"{workload.purpose}."
    if size is not None and size.rows == outcome.rows:  # else it has become another since
        said += f" {size.days:,} {'day' if size.days == 1 else 'days'} × {size.tenants:,} tenants."
    parts = [f"## {outcome.workload}, {outcome.size}", said]
    if picture.exists():
        parts.append(f"![{outcome.workload}, {outcome.size}](results/{picture.name})")
    if outcome.workload == "growth" and (RESULTS / "growth.png").exists():
        parts.append("![Growth with the number of logical partitions](results/growth.png)")
    return "\n\n".join([*parts, markdown(outcome, _in_table).rstrip()])


def _in_table(figure: str) -> bool:
    """A curve has too many points for a table: every hundredth append is enough, the picture has the rest."""
    _, at, number = figure.partition(" @")
    return at == "" or int(number.partition(":")[0]) % 100 == 0


def _configurations(outcomes: list[Outcome]) -> str:
    known: dict[str, dict[str, list[str]]] = {}  # by name and text, the outcomes: an engine may have changed since one
    for outcome in outcomes:
        for name, text in outcome.configurations.items():
            known.setdefault(name, {}).setdefault(text, []).append(f"{outcome.workload}, {outcome.size}")
    listed = []
    for name, texts in known.items():
        for text, where in texts.items():
            only = f" ({'; '.join(where)})" if len(texts) > 1 else ""
            listed.append(f"* **{name}**{only}: {text}")
    return "\n".join(["## How each engine is set up, and why", "", *listed])
