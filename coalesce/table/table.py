"""A table: what users hold in their hands.

The object follows the table's newest version: its own commits at once, those of others with `refresh()` or with the
next write. One opened at a version or a time stays there and refuses writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coalesce.arguments import check_text, check_texts
from coalesce.model.rule import RuleRequest, resolve
from coalesce.model.schema import Schema
from coalesce.model.version import ICEBERG_COMPAT_V3, Version
from coalesce.predicate.expr import TRUE
from coalesce.table import evolve
from coalesce.table.core import Core
from coalesce.table.description import Description, description
from coalesce.table.exporting import TableExporter
from coalesce.table.generations import Generation, generations
from coalesce.table.properties import asked_by, changed
from coalesce.table.result import WriteResult


class Table(TableExporter):
    """A table, to be asked, written to and changed; `coalesce.open` and `coalesce.create` give one.

    It follows the newest version: its own commits at once, those of others with `refresh()` or with the next write.
    It can be pickled, to be used in another process or in Spark's workers: the copy is at the same version, and without
    the Spark session. **The storage options go with it**, secrets among them; keep such a pickle as you keep those.

    >>> import pickle
    >>> pickle.loads(pickle.dumps(table)).count()
    4
    """

    def set_rule(self, rule: RuleRequest) -> WriteResult:
        """Route new rows by another rule. Files already written stay where they are and are still found.

        * `rule`: `coalesce.small(…)`, `coalesce.group(…)` or `coalesce.keep_all()`.

        Raises `SpecError` for a rule that does not go with the partition fields, and `CommitConflict` if the table was
        changed meanwhile.

        >>> table.set_rule(coalesce.small("app", below="1MB")).version
        2
        """

        def change(head: Version) -> Version:
            resolved = resolve(rule, max(r.rule_id for r in head.rules) + 1, head.spec, head.schema)
            properties = {**head.properties, **asked_by(rule)}
            return replace(head, rules=(*head.rules, resolved), current_rule_id=resolved.rule_id, properties=properties)

        return self._core.change("set_rule", change)

    def set_properties(self, properties: Mapping[str, str | None]) -> WriteResult:
        """Set properties; None takes one away.

        * `properties`: `write.target-file-bytes` (such as `"64MB"`), `write.buffer-bytes` (how much of a stream of rows
          is gathered before it is written), `write.layout` (`counted` or `known`), `write.auto-compact` (`true`: after
          a write, small files are merged where there are more than `write.auto-compact-files` of about the same size,
          16 unless said, up to `write.auto-compact-bytes`, 256 MB), `remove.by` (`auto`, `mark` or `rewrite`: how
          logical partitions leave files that they share), `purge.share` and `purge.age` (`compact` writes files again
          of which more than this share is dead, `"0.1"` unless said, or some for longer than this, such as `"30d"`),
          `export.auto` (`iceberg`, `delta` or both with a comma: exported after each commit), and texts of your own.

        Raises `InvalidArgument` for one that the library would read and does not know, and `CommitConflict`.

        >>> _ = table.set_properties({"write.target-file-bytes": "64MB", "owner": "the team"})
        >>> table.state.properties["owner"]
        'the team'
        """
        return self._core.change(
            "set_properties", lambda head: replace(head, properties=changed(head.properties, properties))
        )

    def evolve(
        self, *, add: evolve.Texts = (), drop: evolve.Texts = (), replace: Mapping[str, str] | None = None
    ) -> WriteResult:
        """Partition new rows otherwise. No file is touched: old and new ones are read side by side.

        * `add`: a partition field, or several: `"bucket(64, merchant)"`. `drop`: fields to leave out from now on.
        * `replace`: a dict of fields and what takes their place.

        Raises `SpecError` for fields that are not there or cannot be, and `CommitConflict`.

        >>> _ = table.evolve(add="bucket(4, n)", drop="app")
        >>> [field.name for field in table.state.spec.fields]
        ['dt', 'n_bucket']
        """
        added, dropped = evolve.texts(add), evolve.texts(drop)  # an iterator, too, is read once and not at each attempt
        return self._core.change("evolve", lambda head: evolve.evolve_spec(head, added, dropped, replace))

    def add_column(
        self,
        name: str,
        type_: object,
        *,
        after: str | None = None,
        first: bool = False,
        default: object = None,
        required: bool = False,
    ) -> WriteResult:
        """Add a column, last unless said otherwise.

        * `name`: its name; `a.b` adds a member to the struct `a`.
        * `type_`: text such as `"int64"` or `"decimal(10,2)"`, or a pyarrow type.
        * `after`, `first`: where it stands.
        * `default`: what rows hold that are there already; NULL without it.
        * `required`: NULL is refused from now on; it needs a default.

        Raises `SchemaError` for a column that cannot be, and `CommitConflict`.

        >>> _ = table.add_column("country", "string", after="app", default="DE")
        >>> table.scan("app = 'tiny'").to_arrow().column("country").to_pylist()
        ['DE']
        """
        return self._core.change(
            "add_column",
            lambda head: evolve.add_column(
                head, name, type_, after=after, first=first, default=default, required=required
            ),
        )

    def drop_column(self, name: str) -> WriteResult:
        """Drop a column. Older versions still have it; a later one of the same name never shows its values.

        * `name`: its name; `a.b` is a member of a struct.

        Raises `SchemaError` if it is not there, or if a partition field needs it, and `CommitConflict`.

        >>> _ = table.drop_column("n")
        >>> table.schema.names
        ('dt', 'app')
        """
        return self._core.change("drop_column", lambda head: evolve.drop_column(head, name))

    def rename_column(self, name: str, new_name: str) -> WriteResult:
        """Rename a column, a partition column too: one commit, and no file is written.

        * `name`: its name; `a.b` is a member of a struct. `new_name`: the new name, without the struct's.

        Raises `SchemaError` if the one is not there or the other is taken, and `CommitConflict`.

        >>> _ = table.rename_column("app", "program")
        >>> table.count("program = 'web'")
        3
        """
        return self._core.change("rename_column", lambda head: evolve.rename_column(head, name, new_name))

    def reorder(self, names: Sequence[str]) -> WriteResult:
        """Put these columns first, in this order; the others follow as they are.

        * `names`: a list of columns.

        Raises `SchemaError` if one is not there, and `CommitConflict`.

        >>> _ = table.reorder(["n", "app"])
        >>> table.schema.names
        ('n', 'app', 'dt')
        """
        first = check_texts(names, "the columns", "reorder({})")
        return self._core.change("reorder", lambda head: evolve.reorder(head, first))

    def widen_column(self, name: str, type_: object) -> WriteResult:
        """Give a column a type that holds every value of the old one; files are read through it.

        * `name`: its name; `a.b` is a member of a struct.
        * `type_`: a wider integer, `double` for a `float`, more digits for a decimal, `timestamp_ntz` for a date.

        Raises `SchemaError` for any other type, and `CommitConflict`.

        >>> t = coalesce.create("counts", pa.schema([("n", pa.int32())]))
        >>> _ = t.widen_column("n", "int64")
        >>> t.schema
        <schema: n int64>
        """
        return self._core.change("widen_column", lambda head: evolve.widen_column(head, name, type_))

    def enable_feature(self, feature: str) -> WriteResult:
        """Turn on a feature that writers of the table have to know; it stays on.

        * `feature`: such as `"icebergCompatV3"`, which says that Iceberg could take the table over as it is: every data
          file is looked at, and later ones that do not fit are refused.

        Raises `SchemaError` if there is no such feature, or with every reason why the table cannot have it, and
        `CommitConflict`.

        >>> _ = table.enable_feature("icebergCompatV3")
        >>> "icebergCompatV3" in table.state.writer_features
        True
        """
        core = self._core
        transaction = core.transaction("enable_feature")
        if check_text(feature, "a feature") == ICEBERG_COMPAT_V3:
            transaction.exclusive = True  # files that others add meanwhile were not looked at
            core.check_compatible(transaction.base, core.plan(TRUE).files, "the table cannot be used")
        transaction.change(lambda head: evolve.enable_feature(head, feature))
        return core.committed(transaction)

    def replace_schema(self, schema: object, *, partition_by: Sequence[str] = ()) -> WriteResult:
        """Begin again, empty, with other columns and partition fields; older versions keep their rows.

        * `schema`, `partition_by`: as for `coalesce.create`.

        Raises `SchemaError` and `SpecError` for what cannot be, and `CommitConflict` if anything was committed
        meanwhile.

        >>> table.replace_schema(pa.schema([("k", pa.int64())])).rows_removed
        4
        """
        core = self._core
        columns = schema if isinstance(schema, Schema) else core.engines.for_data(schema).infer_schema(schema)
        fields = check_texts(partition_by, "the partition fields", "{}")
        transaction = core.transaction("replace")
        transaction.exclusive = True
        transaction.change(lambda head: evolve.replaced(head, columns, fields))
        transaction.replace_manifests(())
        return core.committed(transaction)

    def describe(self) -> Description:
        """What the table is: columns, partition fields, rule, properties, and how much it holds, live and dead.

        From metadata alone. Printed, it is what `coalesce describe` shows. A table that was opened at a version or a
        time is described as it was then.

        >>> _ = table.set_properties({"remove.by": "mark"})
        >>> _ = table.drop_partition(app="tiny")
        >>> described = table.describe()
        >>> described.rows, described.dead_rows, described.files, described.partition_by
        (3, 1, 2, ('dt', 'app'))
        >>> str(described).splitlines()[3].partition(",")[0]
        'removed         1 row that still lie in files'
        """
        return description(self.location, self.plan())

    def describe_evolution(self) -> list[Generation]:
        """Which files are of which partition fields and rule, what `compact` would move, and how well each prunes.

        >>> _ = table.set_rule(coalesce.keep_all())
        >>> [(g.fields, g.files, g.current) for g in table.describe_evolution()]
        [(('dt', 'app'), 2, False)]
        """
        return generations(self.plan())


def core_of(table: Table) -> Core:
    """What the table is made of: for the library's own modules and its tests, and no part of what it promises."""
    return table._core
