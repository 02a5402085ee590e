"""Bugs in exports: each would show other engines rows that are not there, or none that are."""

from tests.mutants.mutant import Mutant

EXPORT = "coalesce/interop/export"
ICEBERG = "tests/interop/export/test_iceberg.py"
DELTA = "tests/interop/export/test_delta.py"
ADOPTED = "tests/interop/export/test_adopted_files.py"
AFTER = "tests/table/test_exports.py"

MUTANTS = (
    Mutant(
        name="exports: an upper bound beside NaNs",
        file=f"{EXPORT}/bounds.py",
        old="(known.nan_count != 0 or math.isnan(upper))",
        new="math.isnan(upper)",
        tests=(ICEBERG, DELTA),
        seen="Iceberg leaves out files with NaN for a condition that Spark says NaN meets",
    ),
    Mutant(
        name="exports: a lower bound of zero with its sign",
        file=f"{EXPORT}/bounds.py",
        old="        lower = -0.0 if lower == 0 else lower\n",
        new="",
        tests=(ICEBERG,),
        seen="rows with -0.0 are not found by `= 0` in Iceberg",
    ),
    Mutant(
        name="exports: the empty text as a partition value",
        file=f"{EXPORT}/delta/actions.py",
        old='    return value != ""\n',
        new="    return True\n",
        tests=(DELTA,),
        seen="rows whose partition is the empty text are NULL in Delta",
    ),
    Mutant(
        name="exports: a vector that grew is the one that was there",
        file=f"{EXPORT}/delta/exporter.py",
        old='old.get("deletionVector") != new_vector',
        new='(old.get("deletionVector") is None) != (new_vector is None)',
        tests=(DELTA,),
        seen="rows that were removed later are shown by Delta's readers",
    ),
    Mutant(
        name="exports: milliseconds of an upper bound are cut",
        file=f"{EXPORT}/delta/actions.py",
        old="-(-micros // _MILLISECOND) if is_upper else micros // _MILLISECOND",
        new="micros // _MILLISECOND",
        tests=(DELTA,),
        seen="the last rows of a file are not found by their time in Delta",
    ),
    Mutant(
        name="exports: files of the last export are not looked at again",
        file=f"{EXPORT}/iceberg/metadata.py",
        old="    return new_default or any(",
        new="    return any(",
        tests=(ICEBERG,),
        seen="a new column with a default is NULL in Iceberg for rows that were exported before",
    ),
    Mutant(
        name="exports: a vacuum does not ask what exports need",
        file="coalesce/table/maintain/reachable.py",
        old="    for ref in kept_manifests(storage):\n",
        new="    for ref in ():\n",
        tests=(AFTER,),
        seen="readers of an export find files gone",
    ),
    Mutant(
        name="exports: the earlier record goes before the commit",
        file=f"{EXPORT}/delta/exporter.py",
        old="        keep(self.source.storage, _RECORD, version)\n",
        new="",
        tests=(AFTER,),
        seen="a vacuum deletes files that Delta's readers need",
    ),
    Mutant(
        name="exports: names of dropped columns are forgotten",
        file=f"{EXPORT}/iceberg/naming.py",
        old="    return [*both, *(node for name, node in before.items() if name not in now)]\n",
        new="    return both\n",
        tests=(f"{ADOPTED}::test_columns_that_the_table_lacks",),
        seen="after a column was dropped, PyIceberg reads no adopted file any more",
    ),
    Mutant(
        name="exports: a moved table goes on where it was",
        file=f"{EXPORT}/iceberg/state.py",
        old="        return tuple(map(_bare, before)) != (_bare(target), _bare(data))\n",
        new="        return _bare(before[0]) != _bare(target)\n",
        tests=("tests/interop/export/test_moved.py::test_metadata_elsewhere",),
        seen="readers of an export elsewhere look for files where the table was",
    ),
)
