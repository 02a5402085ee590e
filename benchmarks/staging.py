"""The rows of a workload as plain Parquet files, made once and read by every engine; and what is to be asked of them.

The rows lie as they would arrive: in no order of tenant or day. Beside them are the rows of every later write (what
replaces a logical partition, what is merged, what is appended), a small table of days to join with, and `staged.json`:
which tenant is the small one, which the large. That is chosen by counting, so that a query of the same name means the
same in every workload.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import skews
from benchmarks.events import Numbers, events, renewed
from benchmarks.staged import STAGED, Staged, Target
from benchmarks.workload import Refused, Size, Workload

_FORM: Final = 3  # to be raised when the rows become others, so that none of before are used
_CHUNK: Final = 1_000_000
_LEAST_FILES: Final = 8  # so that Spark's tasks have work for all cores
_NEW_IDS: Final = 10**12  # what is written later has ids from here on
_MERGED: Final = 1_000
_WARM_ROWS: Final = 5_000
_CHANGED: Final = ("overwrite", "delete-tenant", "merge", "update", "delete-rows")
_LOOKED_AT: Final = 40  # rows that the first of them updates
_OTHERS: Final = 71  # with the first, as many as there are rounds: each asks what nobody has asked before
_SPREAD_IDS: Final = 4 * _NEW_IDS  # of rows that are merged into a day


def stage(workload: Workload, size: str | None, directory: Path) -> Staged:
    """Make the rows in a directory, unless the same were made there before."""
    form = workload.size(size)
    asked = {
        "form": _FORM,
        "workload": workload.name,
        "seed": workload.seed,
        "first_day": workload.first_day.isoformat(),
        "columns": list(workload.columns),
        **{name: value for name, value in asdict(form).items() if name not in ("engines", "minutes", "together")},
    }
    asked = json.loads(json.dumps(asked))  # as it will be read: lists, no tuples
    made = directory / STAGED
    if made.exists() and json.loads(made.read_text())["asked"] == asked:  # which is renamed to its name: never half
        return Staged.load(directory)
    shutil.rmtree(directory, ignore_errors=True)  # of another form, or half of this one
    staged = _Maker(workload, form, directory, skews.names(form, workload.seed)).make()
    half = made.with_suffix(".half")
    half.write_text(json.dumps({"asked": asked, **staged.to_dict()}, indent=1))
    half.rename(made)
    return staged


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes what one form of a workload needs, in one directory."""

    workload: Workload
    size: Size
    directory: Path
    called: list[str]

    def make(self) -> Staged:
        counts, day = self._census(), self.size.days // 2
        by_rows = np.argsort(-counts[day], kind="stable")
        present = [int(tenant) for tenant in by_rows if counts[day, tenant] > 0]
        small, chosen = self._chosen(present)
        changed = {small, *(tenant for tenants in chosen.values() for tenant in tenants)}
        rows, others = self._write_rows(day, {*chosen["overwrite"], *chosen["merge"]}, changed)
        for number, tenant in enumerate(chosen["overwrite"]):
            self._write(f"overwrite-{number}", renewed(rows[tenant], _NEW_IDS))
        for number, tenant in enumerate(chosen["merge"]):
            self._write(f"merge-{number}", self._merged(rows[tenant], day, tenant, number))
        for number in range(self.size.repeats + 1):
            known = others.slice(number * (_MERGED // 2), _MERGED // 2)
            self._write(f"merge-day-{number}", self._merged_day(known, day, present, number))
        for number in range(self.size.appends):
            self._write(f"append-{number:04d}", self._appended(number))
        # A few rows of everyone who will be asked for or changed, on every day.
        some = np.array([small, present[0], *(tenants[0] for tenants in chosen.values())])
        self._write("warm", self._events(-1, 0, some[np.arange(_WARM_ROWS) // self.size.days % len(some)]))
        self._write_days(day)
        return Staged(
            directory=self.directory,
            rows=self.size.rows,
            partitions=int((counts > 0).sum()),
            columns=(*self.workload.columns, "dt", "app"),
            below=self.size.below,
            values={
                **self._values(day, small, present),
                "merged": f"id >= {_SPREAD_IDS} AND id <= {_SPREAD_IDS + 2 * _MERGED - 1}",  # what the first two bring
                "updated": f"id IN ({', '.join(map(str, others['id'].slice(0, _LOOKED_AT).to_pylist()))})",
            },
            others=self._others(counts, day, changed),
            changes={
                kind: tuple(Target(day=self._date(day).isoformat(), app=self.called[tenant]) for tenant in tenants)
                for kind, tenants in chosen.items()
            },
            appends=self.size.appends,
        )

    def _chosen(self, present: list[int]) -> tuple[int, dict[str, list[int]]]:
        """The small tenant that is asked for, and whom each change is about: nobody twice, so that none sees another.

        Small ones come from the middle of those that are there that day, those with rows to merge from the upper tenth.
        Of each kind there is one more than is measured: the first warms up.
        """
        each = self.size.repeats + 1
        small = iter(present[len(present) // 2 :])
        middle = iter(present[max(1, len(present) // 10) : len(present) // 2])
        asked = next(small)
        chosen = {
            kind: list(islice(small if kind in ("overwrite", "delete-tenant") else middle, each)) for kind in _CHANGED
        }
        if any(len(tenants) < each for tenants in chosen.values()):
            raise Refused(f"{self.workload.name} has too few tenants for {self.size.repeats} changes of each kind.")
        return asked, chosen

    def _others(self, counts: npt.NDArray[np.int64], day: int, changed: set[int]) -> tuple[Mapping[str, str], ...]:
        """As the first: other days, with small tenants of theirs that are not changed, their largest, and fifty."""
        found = []
        for number in range(1, _OTHERS + 1):
            other = (day + number) % self.size.days
            by_rows = np.argsort(-counts[other], kind="stable")
            present = [int(tenant) for tenant in by_rows if counts[other, tenant] > 0]
            small = [tenant for tenant in present[len(present) // 2 :] if tenant not in changed] or present
            found.append(self._values(other, small[number // self.size.days % len(small)], present))
        return tuple(found)

    def _values(self, day: int, small: int, present: list[int]) -> dict[str, str]:
        """What queries of a day are filled with: one of its small tenants, its largest, and fifty of all sizes."""
        fifty = [present[i] for i in np.linspace(0, len(present) - 1, min(50, len(present))).astype(int)]
        return {
            "day": f"DATE '{self._date(day)}'",
            "later": f"DATE '{self._date(min(day + 2, self.size.days - 1))}'",
            "small": self._quoted(small),
            "large": self._quoted(present[0]),
            "fifty": ", ".join(map(self._quoted, fifty)),
        }

    # --- rows ------------------------------------------------------------------------------------------------------

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """The number of the first row of each chunk, and how many rows it has."""
        rows = min(_CHUNK, -(-self.size.rows // _LEAST_FILES))
        for first in range(0, self.size.rows, rows):
            yield first, min(rows, self.size.rows - first)

    def _census(self) -> npt.NDArray[np.int64]:
        """How many rows each tenant has on each day."""
        counts = np.zeros((self.size.days, self.size.tenants), np.int64)
        for first, rows in self._chunks():
            places = self._days(rows) * self.size.tenants + self._tenants(first, rows)
            counts += np.bincount(places, minlength=counts.size).reshape(counts.shape)
        return counts

    def _days(self, rows: int) -> Numbers:
        return np.arange(rows) % self.size.days

    def _tenants(self, first: int, rows: int) -> Numbers:
        return skews.tenants_of_chunk(self.size, self.workload.seed, first, rows)

    def _events(self, chunk: int, first_id: int, tenants: Numbers, days: Numbers | None = None) -> pa.Table:
        return events(
            self.workload.columns,
            [self.workload.seed, chunk + 1, 3],
            first_id=first_id,
            first_day=self.workload.first_day,
            days=self._days(len(tenants)) if days is None else days,
            tenants=tenants,
            called=self.called,
        )

    def _write_rows(self, day: int, wanted: set[int], changed: set[int]) -> tuple[Mapping[int, pa.Table], pa.Table]:
        """Write every row; those of some tenants on one day, and as many as are merged of those that nobody changes."""
        kept: dict[int, list[pa.Table]] = {tenant: [] for tenant in wanted}
        others: list[pa.Table] = []
        needed = (self.size.repeats + 1) * (_MERGED // 2)
        for first, rows in self._chunks():
            tenants = self._tenants(first, rows)
            table = self._events(first, first, tenants)
            self._write("rows", table, f"{first:012d}")
            that_day = self._days(rows) == day
            for tenant in wanted:
                kept[tenant].append(table.filter(pa.array(that_day & (tenants == tenant))))
            if sum(map(len, others)) < needed:
                others.append(table.filter(pa.array(that_day & ~np.isin(tenants, [*changed]))))
        return {tenant: pa.concat_tables(tables) for tenant, tables in kept.items()}, pa.concat_tables(others)

    def _merged(self, there: pa.Table, day: int, tenant: int, number: int) -> pa.Table:
        """A thousand rows of one logical partition: up to half are there and get other values, the rest are new."""
        known = renewed(there.slice(0, _MERGED // 2), 0)
        rows = _MERGED - known.num_rows
        first = 2 * _NEW_IDS + number * _MERGED
        return pa.concat_tables([known, self._events(first, first, np.full(rows, tenant), np.full(rows, day))])

    def _merged_day(self, known: pa.Table, day: int, present: list[int], number: int) -> pa.Table:
        """A thousand rows of a day, of whichever tenants have rows then: up to half are there, the rest are new."""
        called = {self.called[tenant]: tenant for tenant in present}
        tenants = [called[app] for app in known["app"].to_pylist()] or present[:1]
        rows, first = _MERGED - known.num_rows, _SPREAD_IDS + number * _MERGED
        new = self._events(first, first, np.resize(np.array(tenants), rows), np.full(rows, day))
        return pa.concat_tables([renewed(known, 0), new])

    def _appended(self, number: int) -> pa.Table:
        """The rows of one append: all of one day, days one after the other."""
        rows, first = self.size.append_rows, 3 * _NEW_IDS + number * self.size.append_rows
        day = number * self.size.days // self.size.appends
        return self._events(first, first, self._tenants(first, rows), np.full(rows, day))

    # --- words and files -------------------------------------------------------------------------------------------

    def _date(self, number: int) -> date:
        return self.workload.first_day + timedelta(days=number)

    def _quoted(self, tenant: int) -> str:
        return f"'{self.called[tenant]}'"

    def _write_days(self, chosen: int) -> None:
        """A small table to join with, of which a condition leaves one day."""
        dates = [self._date(number) for number in range(self.size.days)]
        labels = ["chosen" if number == chosen else "other" for number in range(self.size.days)]
        self._write("days", pa.table({"dt": pa.array(dates, pa.date32()), "label": labels}))

    def _write(self, name: str, table: pa.Table, file: str = "rows") -> None:
        inside = self.directory / name
        inside.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, inside / f"{file}.parquet")
