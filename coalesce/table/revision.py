"""Single rows change: an UPDATE, a MERGE, an upsert.

An engine finds which rows of which files change, and what becomes of them; what happens to the files is decided here.
Where tuples can be marked, a row that changes takes along the rows of its tuple in its file: they are written, as they
are now, to new files, and in the old one the tuple is dead. So a file that many logical partitions share is neither
written again nor fought over: revisions of different tuples of one file both commit. Any other file is written again
as a whole. Rows keep their ids; the version of one that was changed is the commit's.
"""

from coalesce.errors import CoalesceError
from coalesce.model.marking import can_be_marked
from coalesce.model.version import Version
from coalesce.plan.plan import make_plan
from coalesce.table.commit.transaction import Transaction
from coalesce.table.engine import Part, Revision, Snapshot, most_dead


def revise(transaction: Transaction, snapshot: Snapshot, revision: Revision) -> None:
    """Stage a change of single rows; rows that came in meanwhile and that it concerns are a conflict."""
    base = transaction.base
    concerned = revision.concerns(snapshot)
    transaction.matching = concerned
    found = revision.find(snapshot, make_plan(base, concerned, lambda refs: transaction.manifests.load_all(refs, base)))
    parts = [_copied(part, base) for part in found.touched]
    added = found.write(parts)
    transaction.add(added)
    transaction.remove([part.file for part in parts if part.tuples is None], copied=True)
    for part in parts:
        if part.tuples is not None:
            transaction.move(part.file.path, part.tuples)
    kept = sum(part.rows for part in parts) - found.deleted
    written = sum(file.rows for file in added)
    if written != kept + found.inserted:
        raise CoalesceError(
            f"{written:,} rows were written where {kept:,} stay and {found.inserted:,} are new, so nothing was "
            "committed; check(deep=True) says whether the files are what they should be."
        )
    transaction.rewritten += kept
    transaction.summary["rows_updated"] = found.updated


def _copied(touched: Part, version: Version) -> Part:
    """What is copied of a file some of whose rows change: its touched tuples, if the others may stay where they are."""
    file, tuples = touched.file, touched.tuples
    spec = version.spec_by_id(file.spec_id)
    known = file.trusted and file.tuple_rows is not None and None not in file.tuple_rows
    if tuples is None or not known or not can_be_marked(spec, version.schema):
        return Part(file, None)
    dead = touched.rows + file.dead_rows
    stays = touched.rows < file.rows and dead <= most_dead(version.properties) * file.physical_rows
    return touched if stays else Part(file, None)
