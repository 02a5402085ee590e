"""What only the rows of a DataFrame can say about whether they may be written, counted along with another pass.

Two things can be wrong with a row whose columns fit: a required column may hold NULL, and the row may lie outside of
what the write replaces.
"""

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.spark.translate.condition import condition
from coalesce.spark.write.conform import Conformed, named, whole
from coalesce.table.engine import Snapshot
from coalesce.table.match import outside, refusal

_OUTSIDE: Final = "_outside"  # beside columns that are called `c1`, `c2`, …


class Checks:
    """Counts of rows that may not be: to be computed over `frame`, and handed to `refuse`."""

    def __init__(self, session: SparkSession, rows: Conformed, snapshot: Snapshot) -> None:
        self.within = snapshot.within
        self.schema = snapshot.version.schema
        self.forbidden = rows.forbidden
        self.frame: DataFrame = rows.frame
        self.counts: list[Column] = [F.count_if(broken) for _, broken in rows.forbidden]
        if self.within is not None:
            inside = F.coalesce(condition(session, self.within), F.lit(False))
            marked = named(rows.frame, self.schema).select(f"{whole(self.schema)}.*", (~inside).alias(_OUTSIDE))
            self.frame = marked
            self.counts.append(F.count_if(F.col(_OUTSIDE)))

    def refuse(self, counts: Sequence[int]) -> None:
        """Refuse the rows if anything was counted: `counts` are the values of `self.counts`, in order."""
        problems = [
            f"column {place!r} is required and has {count} NULLs."
            for (place, _), count in zip(self.forbidden, counts, strict=False)
            if count
        ]
        if self.within is not None and counts[-1]:
            problems.append(outside(counts[-1], self.within, self._example()))
        if problems:
            raise refusal(problems)

    def _example(self) -> dict[str, Any] | None:
        """One of the rows outside, if the DataFrame has it when it is computed once more."""
        found = named(self.frame.filter(_OUTSIDE).drop(_OUTSIDE), self.schema).drop(whole(self.schema)).first()
        return None if found is None else dict(zip(self.schema.names, found, strict=True))
