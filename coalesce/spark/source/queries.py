"""What Spark asks of a table it reads, and the answers: which version, how much of it, which files.

The questions arrive through the bridge, on whichever thread of Spark's asks:

    resolve    at analysis: the columns of the version a query reads
    count      in the optimizer: how many rows the query's filters leave, if metadata says it exactly
    parts      in the optimizer: what has to be read in ways of its own, and which rows of it are dead
    estimate   in the optimizer: how much the query's filters leave; if that are few files, then also which
    listing    when the scan begins: the files, unless they are known
    described  when somebody looks at the query: what each stage of the plan left

Filters arrive as SQL, each with the time zone it is written in. One that does not parse or bind is left out: its files
are kept, and Spark, which has all filters too, checks the rows.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from coalesce.model.schema import all_fields
from coalesce.model.types import FLOATING, AtomicType, Field
from coalesce.plan.plan import Outline, Plan
from coalesce.plan.planner import PlannedManifest
from coalesce.plan.report import Report, counted, human_bytes, make_report
from coalesce.predicate.expr import TRUE, And, Bound
from coalesce.predicate.normalize import is_plain, normalize
from coalesce.predicate.render import literal_sql
from coalesce.recent import Recent
from coalesce.spark.jvm.catalyst import java_class
from coalesce.spark.jvm.location import spark_uri
from coalesce.spark.jvm.values import END
from coalesce.spark.source import versions
from coalesce.spark.source.dead import asks_for_dead, list_dead
from coalesce.spark.source.listing import list_files, matching
from coalesce.spark.source.opaque import Catalyst
from coalesce.spark.source.versions import QueriedVersion
from coalesce.spark.translate.condition import bound_from
from coalesce.spark.translate.options import read_options
from coalesce.spark.translate.schema import check_given_columns, spark_schema, spark_type, without_ids
from coalesce.table.from_metadata import known_count

Question = Mapping[str, Any]

_DEFAULT: Final = "EXISTS_DEFAULT"  # where Spark's Parquet reader looks for the value of a column that a file lacks

_AT_ONCE: Final = 64  # files; so many are listed with the estimate: each question takes a millisecond
_COUNTED: Final = 100_000  # files; each is listed with its rows, and is a partition of its own to Spark
_KEPT: Final = 32 * 1024 * 1024


def _texts(key: tuple[object, ...]) -> int:
    """The letters of the filters in a key: a condition may be a list of ten thousand names."""
    return sum(len(text) for part in key if isinstance(part, frozenset) for text in part)


def _weight(described: Mapping[str, object]) -> int:
    """Most of it is columns, and of a table of two thousand that is much."""
    return sum(len(text) for text in described.values() if isinstance(text, str)) + 1000 * len(described)


_described: Recent[tuple[str, str], dict[str, object]] = Recent(_KEPT, _weight)  # by version and location
_plans: Recent[tuple[object, ...], Outline] = Recent(_KEPT, lambda plan: plan.nbytes, _texts)  # from optimizer to scan
# Of conditions that mean the same in every session, and so for every scan: by version and filters.
_plain: Recent[tuple[str, frozenset[str]], Outline] = Recent(_KEPT, lambda plan: plan.nbytes, _texts)
_estimates: Recent[tuple[str, frozenset[str], int | None], str] = Recent(_KEPT, len, _texts)  # of those, also by part
# Of those, also by the filters that are sure and by whether rows can be counted.
_told: Recent[tuple[str, frozenset[str], frozenset[str], bool], str] = Recent(_KEPT, len, _texts)
_counts: Recent[tuple[str, frozenset[str]], str] = Recent(_KEPT, len, _texts)  # of those, where rows are only counted
_descriptions: Recent[tuple[str, frozenset[str]], str] = Recent(_KEPT, len, _texts)  # of those that somebody looked at
_last_scans: Recent[str, Outline] = Recent(_KEPT, lambda plan: plan.nbytes)  # by `_place`
_listed: Recent[str, Outline] = Recent(_KEPT, lambda plan: plan.nbytes)  # with the estimate, by scan


def forget_table(uri: str) -> None:
    """Let go of what is held of a table that was dropped: whoever still asks for it is told."""

    def is_its(key: str) -> bool:
        return versions.place_of(key) == uri

    versions.forget_where(is_its)
    _described.forget_where(lambda asked: is_its(asked[0]))
    _plans.forget_where(lambda asked: is_its(str(asked[1])))
    _plain.forget_where(lambda asked: is_its(asked[0]))
    _estimates.forget_where(lambda asked: is_its(asked[0]))
    _told.forget_where(lambda asked: is_its(asked[0]))
    _counts.forget_where(lambda asked: is_its(asked[0]))
    _descriptions.forget_where(lambda asked: is_its(asked[0]))


# --- resolve -----------------------------------------------------------------------------------------------------


def resolve(question: Question, spark: SparkSession) -> str:
    """The version to read and what Spark has to know of it.

    `newest` is the version that this query has found to be the newest before, for those who do not name another, and
    `found` is its key.
    """
    options = read_options(question["options"], catalog=question["catalog"])
    number = question.get("newest") if options.follows else options.version
    found = versions.held(question.get("found")) if options.follows else None
    if found is None:
        found = versions.resolve(question["table"], spark, number, options.moment(question["timeZone"]))
    check_columns(question, spark_schema(found.version.schema))
    return json.dumps({**describe(question["table"], found, spark), "follows": options.follows})


def check_columns(question: Question, own: spark_types.StructType) -> None:
    """Refuse columns that were given and are not the table's; the catalog has its own, which may be out of date."""
    given = question.get("schema")
    if given is None or question["catalog"]:
        return
    check_given_columns(spark_types.StructType.fromJson(json.loads(given)), own)


def describe(location: str, found: QueriedVersion, spark: SparkSession) -> dict[str, object]:
    """A version, or what came in with it, for `CoalesceRelation.java`. Every query asks for it, and it never changes.

    But for the root: what a session calls the place of the files depends on its settings.
    """
    known = _described.get((found.key, location))
    if known is None:
        known = _describe(location, found)
        _described.put((found.key, location), known)
    return {**known, "root": spark_uri(spark, found.storage, "")}


def _describe(location: str, found: QueriedVersion) -> dict[str, object]:
    version, since = found.version, found.since
    files, size, rows = version.files, version.bytes, version.rows
    if since is not None:
        new = found.plan(TRUE)
        files, size, rows = new.file_count, new.bytes, new.rows
    name = f"v{version.number}" if since is None else f"v{version.number} after v{since}"
    needs_names = any(f.physical_name != f.name or f.default is not None for f in all_fields(version.schema.fields))
    return {
        "table": location,
        "version": version.number,
        "key": found.key,
        "place": _place(found.storage.uri(""), version.table_id),
        "schema": spark_schema(version.schema).json(),
        "stored": _stored_schema(version.schema.fields).json() if needs_names else None,
        "constants": [f.name for f in found.constants.everywhere],
        "parts": _parts(found),
        "bytes": size,
        "rows": rows,
        "description": f"{name}: {counted(files, 'file')}, {human_bytes(size)}",
    }


def _parts(found: QueriedVersion) -> list[dict[str, object]]:
    """The parts that are read each in its own way, and what several of them are together; none if there is one way."""
    constants = found.constants
    parts = constants.parts
    return (
        []
        if len(parts) == 1
        else [_described_part(found, part) for part in (*constants.together, *parts, *constants.unasked)]
    )


def _described_part(found: QueriedVersion, part: int) -> dict[str, object]:
    """The columns that are constant in its files; if they have dead rows, what tells these, and a free name."""
    constants = [f.name for f in found.constants.of_part(part)]
    telling, placed = found.constants.telling(part), found.constants.placed(part)
    if telling is None and not placed:
        return {"part": part, "constants": constants}
    number = "_file"
    while found.version.schema.find(number) is not None:
        number += "_"
    names = [f.name for f in telling or ()]
    return {"part": part, "constants": constants, "number": number, "placed": placed, "telling": names}


def _stored_schema(fields: tuple[Field, ...]) -> spark_types.StructType:
    """The columns under the names they have in the files, with what rows hold that are older than the column."""
    stored = []
    for field in fields:
        metadata = None
        if field.default is not None:
            metadata = {_DEFAULT: literal_sql(cast(AtomicType, field.type), field.default)}
        type_ = without_ids(spark_type(field.type, physical=True))
        stored.append(spark_types.StructField(field.physical_name, type_, True, metadata))
    return spark_types.StructType(stored)


# --- count, estimate and list ------------------------------------------------------------------------------------


def count(question: Question, evaluator: Any) -> str:
    """How many rows the filters leave; nothing if not all filters are understood, or files would have to be read.

    Which rows a stream has had, only the stream knows.
    """
    asked = question["key"], frozenset(question["filters"])
    known = _counts.get(asked)
    if known is not None:
        return known
    found = _recall(question)
    if found.since is not None or any(bound_from(f, found.version.schema) is None for f in question["filters"]):
        return ""
    plan = _plan(question, found, evaluator)
    rows = known_count(plan)
    text = "" if rows is None else str(rows)
    if is_plain(plan.predicate):
        _counts.put(asked, text)
    return text


def parts(question: Question, evaluator: Any) -> str:
    """The parts of which the filters leave files, by number, each with what tells dead rows of its files.

    If the filters that are `sure`, which fail on no row, leave out every dead one, or the rows of all files can be
    `counted`, files with dead rows and others are read as one part.
    """
    sure, filters = frozenset(question["sure"]), frozenset(question["filters"])
    asked = question["key"], filters, sure, question["counted"]
    known = _told.get(asked)
    if known is not None:
        return known
    found = _recall(question)
    constants, plan = found.constants, _plan(question, found, evaluator)
    unasked, asking = constants.unasked if sure else {}, normalize(_predicate({"filters": sure}, found))
    # What only Spark understands may mean something else by the time that files are listed, and leave others.
    if not unasked or asks_for_dead(plan if is_plain(plan.predicate) else found.plan(asking), asking):
        unasked = {}
    apart = set(constants.parts).difference(*unasked.values())
    told = {part: list_dead(plan, constants, part) for part in (*unasked, *apart)}
    if question["counted"] and plan.file_count <= _COUNTED:
        for one, several in constants.together.items():
            if all(told.get(part) is not None for part in several):
                told |= dict.fromkeys(several) | {one: list_dead(plan, constants, one)}
    text = json.dumps({str(part): texts for part, texts in told.items() if texts is not None})
    if is_plain(plan.predicate):
        _told.put(asked, text)
    return text


def estimate(question: Question, evaluator: Any) -> str:
    """How much the filters leave, for the optimizer; and if it is little, all that is asked for when it is read."""
    part = question.get("part")
    version, filters = question["key"], frozenset(question["filters"])
    known, plain = _estimates.get((version, filters, part)), _plain.get((version, filters))
    if known is not None and plain is not None:
        _listed.put(question["scan"], plain)
        description = _descriptions.get((version, filters))
        return known if description is None else json.dumps({**json.loads(known), "description": description})
    found = _recall(question)
    plan = _plan(question, found, evaluator)
    left_bytes, left_rows = matching(plan if part is None else found.constants.within(plan, part))
    answer: dict[str, object] = {"bytes": left_bytes, "rows": left_rows}
    if plan.file_count <= _AT_ONCE:
        _listed.put(question["scan"], Outline.of(plan))
        answer["files"] = list_files(plan, found.constants, part)
    answer["plain"] = is_plain(plan.predicate)
    text = json.dumps(answer)
    if answer["plain"]:
        _estimates.put((version, filters, part), text)
    return text


def described(question: Question, evaluator: Any) -> str:
    """What became of the files, stage by stage, for people; it takes longer than the plan itself."""
    plan = _plan(question, _recall(question), evaluator)
    text = _description(plan)
    if is_plain(plan.predicate):
        _descriptions.put((question["key"], frozenset(question["filters"])), text)
    return json.dumps({"description": text})


def listing(question: Question, evaluator: Any) -> str:
    """The files to read, as `PlannedFiles.java` takes them."""
    found = _recall(question)
    plan = _plan(question, found, evaluator)
    _last_scans.put(_place(found.storage.uri(""), found.version.table_id), Outline.of(plan))
    return list_files(plan, found.constants, question.get("part"))


def floats(question: Question, evaluator: Any) -> str:
    """The floating-point columns that hold no NaN in any file of the plan, as far as that is known."""
    found = _recall(question)
    plan = _plan(question, found, evaluator)
    floating = [f for f in found.version.schema if f.type in FLOATING]
    return json.dumps({"withoutNan": [f.name for f in floating if all(_no_nan(m, f) for m in plan.manifests)]})


def _no_nan(planned: PlannedManifest, column: Field) -> bool:
    nans = planned.index.entries.statistic(f"nan_count_{column.id}")
    if nans is None:
        return len(planned.files) == 0
    return pc.all(pc.equal(nans.take(pa.array(planned.files)), 0), skip_nulls=False).as_py() is True


def last_scan(spark: SparkSession, root: str, table_id: str) -> Report | None:
    """The report of the newest scan of the table that lies there that has begun in this process.

    Of one whose files were listed with its estimate, Java knows that it has begun.
    """
    place = _place(root, table_id)
    begun = _begun(spark, place)
    plan = _last_scans.get(place) if begun is None else _listed.get(begun)
    return None if plan is None else plan.plan().report


def _begun(spark: SparkSession, place: str) -> str | None:
    """The newest scan that Java has seen begin; None also where its classes, or all of it, are not there."""
    try:
        return cast(str | None, java_class(spark, "coalesce.spark.PlannedFiles").begun(place))
    except (AttributeError, TypeError, Py4JError):
        return None


def _place(root: str, table_id: str) -> str:
    return f"{root}{END}{table_id}"


def _recall(question: Question) -> QueriedVersion:
    return versions.recall(question["key"], question["table"], question["version"])


def _plan(question: Question, found: QueriedVersion, evaluator: Any) -> Plan:
    """The plan under the question's filters. One that the optimizer has seen is not made again for its scan.

    Unless the session has other settings by now: what Catalyst makes of a condition may depend on them. One that it is
    not asked about is for any scan: neither a version nor what such a condition means ever changes.
    """
    scan, filters = question.get("scan"), frozenset(question["filters"])
    key = (scan, question["key"], question["settings"], filters)
    kept = _plain.get((question["key"], filters)) or (None if scan is None else _plans.get(key))
    if kept is not None:
        return kept.plan()
    predicate = normalize(_predicate(question, found))
    plan = found.plan(predicate, Catalyst(found.version.schema, evaluator.evaluate))
    if is_plain(predicate):
        _plain.put((question["key"], filters), Outline.of(replace(plan, opaque=None)))
    elif scan is not None:
        _plans.put(key, Outline.of(plan))
    return plan


def _description(plan: Plan) -> str:
    """What a scan is called in explain(): what is left of what, and which stage left it."""
    version = plan.version
    report = make_report(version, plan.predicate, plan.manifests, plan.load, TRUE, plan.opaque)
    stages = ", ".join(f"{stage.name} {stage.files:,}" for stage in report.stages[1:])
    kept = f"{plan.file_count:,} of {version.files:,} files"
    size = f"{human_bytes(plan.bytes)} of {human_bytes(version.bytes)}"
    return f"v{version.number}: {kept}, {size} ({stages})"


def _predicate(question: Question, found: QueriedVersion) -> Bound:
    bound = [b for b in (bound_from(zoned, found.version.schema) for zoned in question["filters"]) if b is not None]
    return And(tuple(bound)) if bound else TRUE
