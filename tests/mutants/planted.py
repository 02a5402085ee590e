"""Every bug there is to plant."""

from tests.mutants import (
    adoption,
    compaction,
    dead,
    exports,
    files,
    planning,
    retention,
    revisions,
    soundness,
    spark,
    tables,
)
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *planning.MUTANTS,
    *tables.MUTANTS,
    *files.MUTANTS,
    *compaction.MUTANTS,
    *dead.MUTANTS,
    *revisions.MUTANTS,
    *soundness.MUTANTS,
    *exports.MUTANTS,
    *retention.MUTANTS,
    *spark.MUTANTS,
    *adoption.MUTANTS,
)
