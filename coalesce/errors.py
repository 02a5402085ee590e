"""Every error this library raises on purpose.

    CoalesceError
    ├── InvalidArgument          an argument that cannot be meant: a number for a name, an unknown property
    ├── TableNotFound            there is no table at this location
    ├── TableExists              there is one already
    ├── VersionNotFound          the version was never written, or has expired
    ├── CorruptMetadata          a sidecar file is not what it should be (carries the file, and where in it)
    ├── UnsupportedFeature       written by a newer release, or with a feature this one does not know
    ├── CommitConflict           another writer changed what this one relied on
    ├── CommitUncertain          the store failed while it committed: it may have happened (carries the commit's id)
    ├── AmbiguousMatch           a row of the table would be changed by more than one row of a source
    ├── SchemaError              columns, types or values that do not fit the table
    ├── SpecError                a partition field, transform or rule that cannot be
    ├── ExportRefused            the table cannot be written down in the other format, or not at this place
    ├── PredicateError           a predicate that does not parse or names an unknown column (carries a caret)
    ├── NeedsSpark               the operation has to evaluate something only Spark can
    ├── SparkUnavailable         no Spark, or no Java to run it
    ├── NotInstalled             a library that was asked for by name is not there (an ImportError too)
    ├── BrokenInstallation       another distribution's files are among ours (an ImportError too)
    └── StorageError             the file system or object store failed
        └── FileMissing          ... because the file is not there

A message says what is wrong, where, and what to do about it; it is one or a few sentences, never a dump.
"""

from coalesce.distribution import fault


class CoalesceError(Exception):
    """The root: catch this to catch everything the library raises on purpose."""


class InvalidArgument(CoalesceError):
    """A function was called with something it cannot take; nothing was done."""


class TableNotFound(CoalesceError):
    """There is no coalesce table at the location."""


class TableExists(CoalesceError):
    """A table is there already, and creating it again was not asked to be harmless."""


class VersionNotFound(CoalesceError):
    """The table has no such version: never written, or expired."""


class VersionExpired(VersionNotFound):
    """The version was there and has expired: what only it needed may be gone, or is about to go."""


class CorruptMetadata(CoalesceError):
    """A version file or manifest is damaged or breaks the format's rules.

    `file` is the path relative to the table; `where` is the place inside the document, such as
    `manifests[3].bounds[0].lower`, or empty when the file as a whole is unreadable.
    """

    def __init__(self, file: str, reason: str, where: str = "") -> None:
        self.file = file
        self.where = where
        self.reason = reason
        place = f"{file} at {where}" if where else file
        super().__init__(f"{place}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.file, self.reason, self.where)


class UnsupportedFeature(CoalesceError):
    """The table needs something this release does not know; a newer one may."""


class CommitConflict(CoalesceError):
    """Another writer's commit changed what this transaction relied on; nothing was committed."""


class CommitUncertain(CoalesceError):
    """The store failed while the version was created, and again when it was looked up: it may have been committed.

    `version` is the number it would have, and `commit_id` tells it from another writer's of that number.
    """

    def __init__(self, root: str, version: int, commit_id: str, reason: object) -> None:
        self.root = root
        self.version = version
        self.commit_id = commit_id
        self.reason = str(reason)
        super().__init__(
            f"version {version} of the table at {root} may have been committed, or not: the store failed, and again "
            f"when it was asked ({str(reason).rstrip('.')}). Look for commit_id {commit_id} in history() before you "
            "repeat the operation; one that was made with applies= can be repeated as it is."
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.root, self.version, self.commit_id, self.reason)


class AmbiguousMatch(CoalesceError):
    """Several rows of a source would change one row of the table, and which is meant is not known: nothing was done."""


class SchemaError(CoalesceError):
    """Columns, types or values do not fit the table."""


class SpecError(CoalesceError):
    """A partition field, transform or rule is not possible."""


class ExportRefused(CoalesceError):
    """Readers of the other format would see something else than the table, or another table is there already."""


class PredicateError(CoalesceError):
    """A predicate does not parse, or names something the table does not have.

    `position` is the offset into `text` of what is wrong; the message shows it with a caret.
    """

    def __init__(self, reason: str, text: str | None = None, position: int | None = None) -> None:
        self.reason = reason
        self.text = text
        self.position = position
        super().__init__(reason if text is None else f"{reason}\n{_pointed_at(text, position)}")


class NeedsSpark(CoalesceError):
    """The operation has to evaluate an expression exactly, and only Spark can."""


class SparkUnavailable(CoalesceError):
    """There is no Spark, or no Java to run it with."""


class NotInstalled(CoalesceError, ImportError):
    """What was asked for takes a library that is not installed."""


class StorageError(CoalesceError):
    """The file system or the object store failed."""


class FileMissing(StorageError):
    """The file is not there."""


class NothingWritten(StorageError):
    """The store failed before it could create a file: it is not there, and will not be."""


class NotAFile(NothingWritten):
    """A directory, a link to nothing or the like has the name of a file that is to be created."""


_WINDOW = 100  # characters of predicate text shown around the caret


def _pointed_at(text: str, position: int | None) -> str:
    """The line of `text` around `position`, with a caret under it."""
    if position is None:
        return f"  {text[:_WINDOW]}{'…' if len(text) > _WINDOW else ''}"
    position = max(0, min(position, len(text)))
    line_start = text.rfind("\n", 0, position) + 1
    line_end = text.find("\n", position)
    line_end = len(text) if line_end < 0 else line_end
    start = max(line_start, position - _WINDOW // 2)
    end = min(line_end, start + _WINDOW)
    before = "…" if start > line_start else ""
    after = "…" if end < line_end else ""
    caret = " " * (len(before) + position - start)
    return f"  {before}{text[start:end]}{after}\n  {caret}^"


class BrokenInstallation(CoalesceError, ImportError):
    """This package is not whole: another distribution, which installs a package of the same name, is in its way."""


# Every module of ours imports this one, so whichever is imported first, and whichever `__init__.py` came before it, is
# told here; a missing name somewhere in the middle would tell nothing.
if (_fault := fault()) is not None:
    raise BrokenInstallation(_fault)
