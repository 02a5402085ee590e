"""How a table is made and opened: the place where storage, table and engines meet."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from coalesce.arguments import check_flag, check_session, check_settings, check_text, check_texts, shown
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import InvalidArgument
from coalesce.interop.adopt.result import AdoptResult
from coalesce.interop.adopt.run import Adoption, is_table
from coalesce.interop.adopt.sources import iceberg_root, looks_at
from coalesce.interop.adopt.survey import PARQUET, Asked, Packing
from coalesce.interop.advise.advice import Advice
from coalesce.interop.advise.choose import advise as advise_on
from coalesce.model.rule import RuleRequest, parse_bytes
from coalesce.model.schema import Schema
from coalesce.storage import Storage, open_storage
from coalesce.storage.resolve import Hadoop
from coalesce.table.commit.log import Log
from coalesce.table.create import create_table
from coalesce.table.engine import Engines
from coalesce.table.properties import check_properties
from coalesce.table.reading import check_when
from coalesce.table.table import Table

Location = str | os.PathLike[str]


def create(
    location: Location,
    schema: object,
    *,
    partition_by: Sequence[str] = (),
    rule: RuleRequest | None = None,
    properties: Mapping[str, str] | None = None,
    exists_ok: bool = False,
    spark: Any = None,
    storage_options: Mapping[str, str] | None = None,
) -> Table:
    """Create an empty table.

    * `location`: a path, or a URI such as `s3://bucket/events`.
    * `schema`: a pyarrow or Spark schema, or rows that have one: a table or data frame, a dataset, a list of dicts.
    * `partition_by`: the partition fields as text: `"dt"`, `"day(ts)"`, `"bucket(64, merchant)"`, `"truncate(4, zip)"`.
    * `rule`: which logical partitions share a physical one: `small(…)`, `group(…)`; without it each has its own.
    * `properties`: settings of the table, such as `{"write.target-file-bytes": "64MB"}`, and texts of your own.
    * `exists_ok`: open the table if it is there already, its columns and partition fields are these, and so are its
      rule and properties where they are given.
    * `spark`: a Spark session, to read and write with it as well.
    * `storage_options`: settings of the object store, such as `{"region": "eu-west-1"}`.

    Raises `TableExists`, `SchemaError` for columns, and `SpecError` for partition fields or a rule, that cannot be.

    >>> t = coalesce.create("payments", pa.schema([("day", pa.date32()), ("amount", pa.int64())]), partition_by=["day"])
    >>> t
    <coalesce table payments at version 0>
    """
    storage = _storage(location, storage_options, spark)
    return create_table(
        storage,
        _engines(spark),
        schema,
        partition_by=partition_by,
        rule=rule,
        properties=properties,
        exists_ok=exists_ok,
        time_zone=_time_zone(spark),
        case_sensitive=_case_sensitive(spark),
    )


def open(  # noqa: A001 - it is `coalesce.open` to everyone who calls it
    location: Location,
    *,
    version: int | str | None = None,
    as_of: datetime | None = None,
    spark: Any = None,
    storage_options: Mapping[str, str] | None = None,
) -> Table:
    """Open a table at its newest version, or read-only at an older one.

    * `version`: the number of the version, or a tag that names it.
    * `as_of`: the moment whose version is meant; one without a time zone is UTC.
    * `spark`, `storage_options`: as for `create`.

    Raises `TableNotFound`, `VersionNotFound` for a version that is not there, and `VersionExpired` for one that is not
    there any more.

    >>> coalesce.open("events").count()
    4
    >>> coalesce.open("events", version=0).count()
    0
    """
    check_when(version, as_of)
    storage = _storage(location, storage_options, spark)
    log = Log(storage)
    travels = version is not None or as_of is not None
    table = Table(
        storage,
        _engines(spark),
        log=log,
        version=log.any() if travels else None,
        time_zone=_time_zone(spark),
        case_sensitive=_case_sensitive(spark),
    )
    return table.at(version=version, as_of=as_of) if travels else table


def adopt(
    location: Location,
    *,
    schema: object = None,
    partition_by: Sequence[str] | None = None,
    rule: RuleRequest | None = None,
    properties: Mapping[str, str] | None = None,
    scan: bool = False,
    spark: Any = None,
    storage_options: Mapping[str, str] | None = None,
) -> AdoptResult:
    """Make a table of what is there, in place: no file is moved, changed or copied, only `_coalesce` is written.

    * `location`: a directory of Parquet files, with or without directories such as `dt=2026-05-17`; a Delta table; or
      an Iceberg table, by its directory or by one of its `.metadata.json` files.
    * `schema`: columns and their types, of a Parquet directory; without it they are what the files have, and what the
      names of directories look like.
    * `partition_by`: the partition fields; without it those that the directories have, or the other table.
    * `rule`, `properties`: as for `create`. By the rule, `compact()` will coalesce what is small.
    * `scan`: read the rows of files of which neither directories nor footers tell the logical partitions.
    * `spark`, `storage_options`: as for `create`.

    Called again, it takes in files that are new, and lets go of those that are there no more, in one commit. Raises
    `TableNotFound` where there is nothing to adopt, `SchemaError` and `StorageError` for files that do not go together
    or cannot be read, with their names, and `UnsupportedFeature` for a table that cannot be adopted.

    >>> import os, pyarrow.parquet as pq
    >>> for app in ("web", "tiny"):
    ...     os.makedirs(f"lake/app={app}")
    ...     pq.write_table(pa.table({"n": [1, 2]}), f"lake/app={app}/part-0.parquet")
    >>> done = coalesce.adopt("lake")
    >>> done.files_added, done.rows_added
    (2, 4)
    >>> done.table.count("app = 'tiny'")
    2
    >>> coalesce.adopt("lake").committed
    False
    """
    place, chosen = iceberg_root(location)
    storage = _storage(place, storage_options, spark)
    asked, given = _asked(schema, partition_by, rule, properties, scan, spark)
    return Adoption(
        storage=storage,
        look=looks_at(storage, chosen, storage_options),
        asked=asked,
        opened=lambda: open(place, spark=spark, storage_options=storage_options),
        given=given,
    ).run()


def advise(
    location: Location,
    *,
    target: int | str | None = None,
    spark: Any = None,
    storage_options: Mapping[str, str] | None = None,
) -> Advice:
    """What coalescing would bring to what is there, from metadata alone: nothing is written.

    * `location`: a directory of Parquet files, a Delta or an Iceberg table, as for `adopt`; or a table of this library.
    * `target`: how large files are to become, such as `"64MB"`; 128 MB unless said.
    * `spark`, `storage_options`: as for `create`.

    Raises what `adopt` raises.

    >>> import os, pyarrow.parquet as pq
    >>> for app in ("web", "tiny"):
    ...     os.makedirs(f"logs/app={app}")
    ...     pq.write_table(pa.table({"n": [1, 2]}), f"logs/app={app}/part-0.parquet")
    >>> advice = coalesce.advise("logs")
    >>> advice.partitions, advice.now.files, advice.after.files, advice.rule
    (2, 2, 1, 'coalesce.small("app", below="64MB", target="128MB")')
    """
    place, chosen = iceberg_root(location)
    storage = _storage(place, storage_options, spark)
    size = None if target is None else parse_bytes(target, least=1)
    if is_table(storage):
        table = open(place, spark=spark, storage_options=storage_options)
        return advise_on("coalesce", table.state, table.files(), packing=Packing(), target=size, listed=False)
    survey = looks_at(storage, chosen, storage_options)(Asked(time_zone=_time_zone(spark)), None, {})
    return advise_on(
        survey.kind,
        survey.version,
        survey.files,
        packing=survey.packing,
        target=size,
        left_out=len(survey.left_out),
        listed=survey.kind == PARQUET,
    )


def _asked(
    schema: object, partition_by: object, rule: RuleRequest | None, properties: object, scan: object, spark: Any
) -> tuple[Asked, frozenset[str]]:
    """What an adoption was asked for, and by which arguments."""
    columns = schema
    if schema is not None and not isinstance(schema, Schema):
        columns = _engines(spark).for_data(schema).infer_schema(schema)
    asked = Asked(
        schema=columns if isinstance(columns, Schema) else None,
        partition_by=None if partition_by is None else check_texts(partition_by, "the partition fields", "{}"),
        rule=rule,
        properties={} if properties is None else check_properties(properties),
        scan=check_flag(scan, "scan="),
        time_zone=_time_zone(spark),
    )
    arguments = {"schema=": schema, "partition_by=": partition_by, "rule=": rule, "properties=": properties}
    return asked, frozenset(name for name, value in arguments.items() if value is not None)


def _storage(location: object, options: object, spark: Any) -> Storage:
    """The storage at a location, if these can be a location, options and a session at all."""
    if isinstance(location, bytes) or not isinstance(location, str | os.PathLike):
        raise InvalidArgument(f"the location of a table is a path or a URI, not {shown(location)}.")
    if spark is not None:
        check_session(spark, "spark=")
    named = {} if options is None else check_settings(options, "storage_options")
    texts = {name: _option(name, value) for name, value in named.items()}
    return open_storage(location, options=None if options is None else texts, hadoop=_hadoop(spark))


def _hadoop(spark: Any) -> Hadoop | None:
    """What a session reaches through Hadoop."""
    if spark is None:
        return None
    from coalesce.spark.jvm import hadoop  # here, because PySpark is an extra

    return hadoop.Hadoop(spark)


def _option(name: str, value: object) -> str:
    """A storage option as text; a flag or a number may be given as what it is."""
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return check_text(value, f"the storage option {name!r}")


def _engines(spark: Any) -> Engines:
    if spark is None:
        return Engines(ArrowEngine())
    from coalesce.spark.session.attach import attach, is_connect

    attach(spark)  # frames of the table read through the source
    if is_connect(spark):
        from coalesce.spark.connect.engine import ConnectEngine

        return Engines(ArrowEngine(), ConnectEngine(spark))
    from coalesce.spark.engine import SparkEngine

    return Engines(ArrowEngine(), SparkEngine(spark))


def _time_zone(spark: Any) -> str:
    return "UTC" if spark is None else str(spark.conf.get("spark.sql.session.timeZone"))


def _case_sensitive(spark: Any) -> bool:
    return spark is not None and str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
