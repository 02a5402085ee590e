"""Bugs in what expires and in what is deleted: each would cost somebody rows."""

from tests.mutants.mutant import Mutant

TAGS = "tests/table/maintain/test_tags.py"
EXPIRE = "tests/table/maintain/test_expire.py"
VACUUM = "tests/table/maintain/test_vacuum.py"
MAINTAIN = "coalesce/table/maintain"

MUTANTS = (
    Mutant(
        name="retention: only the newest version counts as used",
        file=f"{MAINTAIN}/reachable.py",
        old="sorted({*range(head.retained_from, head.number + 1), *head.tags.values()})",
        new="[head.number]",
        tests=(VACUUM,),
        seen="a rollback, or opening an older version, finds files gone",
    ),
    Mutant(
        name="retention: tags do not count as used",
        file=f"{MAINTAIN}/reachable.py",
        old="sorted({*range(head.retained_from, head.number + 1), *head.tags.values()})",
        new="range(head.retained_from, head.number + 1)",
        tests=(VACUUM,),
        seen="a tagged version opens, and its files are gone",
    ),
    Mutant(
        name="retention: a manifest that is missing names nothing",
        file=f"{MAINTAIN}/reachable.py",
        old="            raise why_missing(storage, version) or CorruptMetadata(ref.path, reason) from None\n",
        new="            del reason\n            return []\n",
        tests=(VACUUM,),
        seen="one lost manifest costs all the files that it named",
    ),
    Mutant(
        name="retention: a version that is missing names nothing",
        file=f"{MAINTAIN}/reachable.py",
        old='        raise CorruptMetadata(f"{version_path(0).rpartition(\'/\')[0]}/", f"a version is missing: {error}") from error\n',  # noqa: E501
        new="        del error\n",
        tests=(VACUUM,),
        seen="one lost version costs the files of all after it",
    ),
    Mutant(
        name="retention: a manifest of other paths is believed",
        file="coalesce/manifest/manifest_file.py",
        old="    check_digest(data, ref)\n    try:\n        paths =",
        new="    try:\n        paths =",
        tests=(VACUUM,),
        seen="a manifest that was exchanged costs the files of the right one",
    ),
    Mutant(
        name="retention: the newest version is read before files are listed",
        file=f"{MAINTAIN}/vacuum.py",
        old="    listed = [*storage.sweep(DATA), *storage.sweep(METADATA)]\n    head, gone = _unused(core, [",
        new=(
            "    before = Log(storage).head()\n    listed = [*storage.sweep(DATA), *storage.sweep(METADATA)]\n"
            "    head, gone = before, unused(storage, Log(storage), before, ["
        ),
        tests=(VACUUM,),
        seen="a write that took long is committed and loses its files",
    ),
    Mutant(
        name="retention: files of any age go",
        file=f"{MAINTAIN}/vacuum.py",
        old="[file for file in listed if file.modified_ms <= moment and is_own(file.path)]",
        new="[file for file in listed if is_own(file.path)]",
        tests=(VACUUM,),
        seen="a write that is under way loses its files",
    ),
    Mutant(
        name="retention: whatever is not used goes, whoever put it there",
        file=f"{MAINTAIN}/vacuum.py",
        old="[file for file in listed if file.modified_ms <= moment and is_own(file.path)]",
        new="[file for file in listed if file.modified_ms <= moment and not file.path.endswith('latest')]",
        tests=(VACUUM,),
        seen="adopted files and notes beside the table are deleted",
    ),
    Mutant(
        name="retention: this machine's clock decides",
        file=f"{MAINTAIN}/retention.py",
        old="    return probe.modified_ms - age // _MILLISECOND",
        new="    import time\n\n    return int(time.time() * 1000) - age // _MILLISECOND",
        tests=(VACUUM,),
        seen="on a machine whose clock is ahead, files that were written a minute ago are deleted",
    ),
    Mutant(
        name="retention: less than a day needs no force",
        file=f"{MAINTAIN}/retention.py",
        old='    if not check_flag(force, "force=") and age < FLOOR:',
        new='    if not check_flag(force, "force=") and age < FLOOR * 0:',
        tests=(EXPIRE,),
        seen="a slip of the pen deletes files of writers and readers at work",
    ),
    Mutant(
        name="retention: links are followed",
        file="coalesce/storage/local.py",
        old="        return [] if any(os.path.islink(self._at(path)) for path in above) else self._listed(",
        new="        return [] if not above else self._listed(",
        tests=(VACUUM,),
        seen="a directory that lies on another disk is cleaned by two tables",
    ),
    Mutant(
        name="retention: a link to a file is a file",
        file="coalesce/storage/local.py",
        old="status = entry.stat(follow_symlinks=not own)",
        new="status = entry.stat()",
        tests=(VACUUM,),
        seen="a link that somebody made is gone",
    ),
    Mutant(
        name="retention: an expired version is tagged",
        file=f"{MAINTAIN}/tags.py",
        old="    if head.has_expired(number):\n        raise expired(root, number, head)\n",
        new="",
        tests=(TAGS,),
        seen="a version is said to be kept whose files are deleted",
    ),
    Mutant(
        name="retention: a rollback to an expired version",
        file="coalesce/table/writing.py",
        old="        if transaction.base.has_expired(number):",
        new="        if transaction.base.has_expired(number) and False:",
        tests=(EXPIRE,),
        seen="the newest version names files that a vacuum is about to delete, or has",
    ),
    Mutant(
        name="retention: two expiries, and the smaller number wins",
        file=f"{MAINTAIN}/expire.py",
        old="        retained_from=max(head.retained_from, number),",
        new="        retained_from=number,",
        tests=(EXPIRE,),
        seen="versions whose files are deleted are there again",
    ),
    Mutant(
        name="retention: the version that was current when the time began goes",
        file=f"{MAINTAIN}/expire.py",
        old="    current = head.number if younger is None else younger - 1",
        new="    current = head.number if younger is None else younger",
        tests=(EXPIRE,),
        seen="the table cannot be opened as of six days ago, though a week is kept",
    ),
    Mutant(
        name="retention: commits that only expire are counted",
        file=f"{MAINTAIN}/expire.py",
        old="        counted += version.operation not in _UPKEEP",
        new="        counted += 1",
        tests=(EXPIRE,),
        seen="a table that nobody writes to loses a version for each expiry",
    ),
    Mutant(
        name="retention: a tagged version that stays alone is not marked",
        file=f"{MAINTAIN}/version_files.py",
        old="        if number < head.retained_from:",
        new="        if number > head.retained_from:",
        tests=(EXPIRE,),
        seen="a process that slept for weeks commits into a gap, and its rows are never seen",
    ),
    Mutant(
        name="retention: the first tag is in the way of a change of columns",
        file="coalesce/table/commit/conflicts.py",
        old="        version.writer_features - {RETENTION, DEAD_TUPLES},",
        new="        version.writer_features - {DEAD_TUPLES},",
        tests=(TAGS,),
        seen="add_column fails because somebody tagged a version",
    ),
    Mutant(
        name="retention: a gap is damage whatever has expired",
        file="coalesce/table/commit/log.py",
        old="            lost = [max(gap.start, kept_from) for gap in gaps if gap.stop > kept_from]",
        new="            lost = [gap.start for gap in gaps]",
        tests=(EXPIRE,),
        seen="a table with a tag cannot be opened any more once versions have expired",
    ),
    Mutant(
        name="retention: as of a moment whose version has expired, an older one is shown",
        file="coalesce/table/core.py",
        old="        if low < len(numbers) and numbers[low] != found + 1:",
        new="        if low > len(numbers):",
        tests=(EXPIRE,),
        seen="as_of shows rows of another moment, without a word",
    ),
)
