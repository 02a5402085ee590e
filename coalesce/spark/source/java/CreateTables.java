package coalesce.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.command.CreateDataSourceTableCommand;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import org.apache.spark.sql.execution.command.SaveAsV1TableCommand;
import org.apache.spark.sql.execution.datasources.DataSourceUtils;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Lets the source know what CREATE TABLE, CREATE TABLE AS SELECT and saveAsTable were given.
 *
 * <p>Spark keeps PARTITIONED BY from a source and for the catalog, where it would mean directories: the table would be
 * made without partition fields. And it says "overwrite" to the source whatever the mode was. Here both go into the
 * options, where DataFrameWriter.save puts the one.
 *
 * <p>saveAsTable on a coalesce table that is in the catalog is a save to that table. Spark would drop it first, with
 * its history, for mode overwrite, and not know its partition fields for mode append.
 */
public class CreateTables extends Rule {
  /** Why there are no buckets. */
  static final String BUCKETS =
      "partition by a bucket instead, as in PARTITIONED BY (bucket(16, id))";

  /** The option in which DataFrameWriter hands over what partitionBy was given. */
  private static final String PARTITION_COLUMNS = "__partition_columns";

  /** The option that says how a table is to be made: "columns", of those given; or by a query, in which mode. */
  static final String CREATE = "coalesce.create";

  /** The option that names the table which a new one is to be like. */
  private static final String LIKE = "coalesce.like";

  /** The option with those of TBLPROPERTIES that are the table's own. */
  private static final String PROPERTIES = "coalesce.properties";

  /** Options of a table of the catalog that say how it was to be made, and it may be otherwise by now. */
  private static final List OF_CREATE = Arrays.asList(new Object[] {"smallcolumns", "smallbelow", "targetfilesize"});

  /** ... and how it is overwritten. */
  private static final String OF_OVERWRITE = "partitionoverwritemode";

  public TreeNode apply(TreeNode plan) {
    if (plan instanceof SaveAsV1TableCommand) {
      return saved((SaveAsV1TableCommand) plan);
    }
    if (plan instanceof CreateDataSourceTableAsSelectCommand) {
      CreateDataSourceTableAsSelectCommand command = (CreateDataSourceTableAsSelectCommand) plan;
      CatalogTable table = command.table();
      return !isNew(table)
          ? plan
          : new CreateDataSourceTableAsSelectCommand(
              described(table, command.mode().name()), command.mode(), command.query(), command.outputColumnNames());
    }
    if (plan instanceof CreateDataSourceTableCommand) {
      CreateDataSourceTableCommand command = (CreateDataSourceTableCommand) plan;
      return isNew(command.table()) ? created(command.table(), command.ignoreIfExists()) : plan;
    }
    return plan instanceof CreateTableLikeCommand ? alike((CreateTableLikeCommand) plan) : plan;
  }

  /** CREATE TABLE … LIKE, if what it makes is a coalesce table: Spark would enter it in the catalog and not make it. */
  private static TreeNode alike(CreateTableLikeCommand command) {
    SessionCatalog catalog =
        ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().catalog();
    CatalogTable model = catalog.getTempViewOrPermanentTableMetadata(command.sourceTable());
    boolean hive = command.fileFormat().inputFormat().isDefined();
    Option provider = command.provider().isDefined() || hive ? command.provider() : model.provider();
    if (provider.isEmpty() || !"coalesce".equalsIgnoreCase((String) provider.get())) {
      return command;
    }
    HashMap options = new HashMap();
    if (Catalog.isOurs(model)) {
      options.put(LIKE, Catalog.location(model));
    }
    HashMap changes = new HashMap();
    changes.put("locationUri", command.fileFormat().locationUri());
    changes.put("properties", scala(options));
    Object storage = Copies.changed(CatalogStorageFormat.empty(), changes);
    changes.clear();
    changes.put("identifier", command.targetTable());
    boolean managed = command.fileFormat().locationUri().isEmpty();
    changes.put("tableType", managed ? CatalogTableType.MANAGED() : CatalogTableType.EXTERNAL());
    changes.put("storage", storage);
    changes.put("provider", provider);
    changes.put("properties", command.properties());
    changes.put("stats", Option.empty());
    changes.put("viewText", Option.empty());
    changes.put("viewOriginalText", Option.empty());
    return asSelect((CatalogTable) Copies.changed(model, changes), command.ifNotExists());
  }

  /** CREATE TABLE AS SELECT of no rows. */
  private static TreeNode asSelect(CatalogTable table, boolean ignoreIfExists) {
    StructType columns = table.schema();
    HashMap changes = new HashMap();
    changes.put("schema", new StructType());
    return new CreateDataSourceTableAsSelectCommand(
        (CatalogTable) Copies.changed(described(table, "columns"), changes),
        ignoreIfExists ? SaveMode.Ignore : SaveMode.ErrorIfExists,
        (LogicalPlan) empty(columns),
        names(columns));
  }

  static scala.collection.immutable.Map scala(Map map) {
    return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(map));
  }

  private static boolean isNew(CatalogTable table) {
    return Catalog.isOurs(table) && !table.storage().properties().contains(CREATE);
  }

  /** CREATE TABLE with columns, or, of a table that is there, without. */
  private static TreeNode created(CatalogTable table, boolean ignoreIfExists) {
    StructType columns = table.schema();
    boolean managed = table.tableType().equals(CatalogTableType.MANAGED());
    if (columns.isEmpty()) {
      if (managed) {
        throw new IllegalArgumentException(
            "CREATE TABLE " + table.identifier().table() + " says neither which columns the new table has nor, with"
                + " LOCATION, where one lies.");
      }
      checked(table);
      return new CreateDataSourceTableCommand(table, ignoreIfExists);
    }
    // Spark wants the directory of a managed table empty until it is in the catalog, unless a query has filled it.
    return managed
        ? asSelect(table, ignoreIfExists)
        : new CreateDataSourceTableCommand(described(table, "columns"), ignoreIfExists);
  }

  /** saveAsTable on a coalesce table of the catalog; all else is left to Spark, which comes back with CREATE TABLE. */
  private static TreeNode saved(SaveAsV1TableCommand command) {
    CatalogTable wanted = command.tableDesc();
    CatalogTable there = Catalog.find(wanted.identifier());
    if (there == null || (command.mode() != SaveMode.Append && command.mode() != SaveMode.Overwrite)) {
      return command;
    }
    String name = wanted.identifier().table();
    if (!Catalog.isOurs(wanted)) {
      throw new IllegalArgumentException(
          name + " is a coalesce table: say format(\"coalesce\") to write to it, or DROP TABLE first.");
    }
    String place = Catalog.location(wanted);
    if (place != null && !place.equals(Catalog.location(there))) {
      throw new IllegalArgumentException(
          name + " lies at " + there.location() + ", not at " + place + ": leave path out, or DROP TABLE first.");
    }
    HashMap own = new HashMap(CollectionConverters.asJava(TableCommands.options(there)));
    for (Iterator names = own.keySet().iterator(); names.hasNext(); ) {
      String option = ((String) names.next()).toLowerCase(Locale.ROOT);
      if (OF_CREATE.contains(option) || (command.mode() == SaveMode.Append && option.equals(OF_OVERWRITE))) {
        names.remove();
      }
    }
    scala.collection.immutable.Map options = scala(own);
    options = (scala.collection.immutable.Map) options.concat(checked(wanted).storage().properties());
    options = withFields(options, wanted);
    return new SaveIntoDataSourceCommand(command.query(), new NativeSource(), options, command.mode());
  }

  /** The table, with its partition columns, its properties and how it is to be made among the options. */
  private static CatalogTable described(CatalogTable table, String create) {
    checked(table);
    scala.collection.immutable.Map options = withFields(table.storage().properties(), table);
    options = (scala.collection.immutable.Map) options.updated(CREATE, create);
    if (table.properties().contains(Parser.PARTITIONED_BY)) {
      Object fields = table.properties().apply(Parser.PARTITIONED_BY);
      options = (scala.collection.immutable.Map) options.updated(PARTITION_COLUMNS, fields);
    }
    HashMap own = new HashMap();
    HashMap others = new HashMap(CollectionConverters.asJava(table.properties()));
    others.remove(Parser.PARTITIONED_BY);
    for (Iterator entries = others.entrySet().iterator(); entries.hasNext(); ) {
      Map.Entry entry = (Map.Entry) entries.next();
      if (isProperty((String) entry.getKey())) {
        own.put(entry.getKey(), entry.getValue());
        entries.remove();
      }
    }
    if (!own.isEmpty()) {
      options = (scala.collection.immutable.Map) options.updated(PROPERTIES, Bridge.write(own));
    }
    HashMap changes = new HashMap();
    changes.put("storage", withOptions(table, options));
    changes.put("properties", scala(others));
    changes.put("partitionColumnNames", (Seq) scala.collection.immutable.Nil$.MODULE$);
    return (CatalogTable) Copies.changed(table, changes);
  }

  private static scala.collection.immutable.Map withFields(
      scala.collection.immutable.Map options, CatalogTable table) {
    return table.partitionColumnNames().isEmpty()
        ? options
        : (scala.collection.immutable.Map)
            options.updated(
                PARTITION_COLUMNS, DataSourceUtils.encodePartitioningColumns(table.partitionColumnNames()));
  }

  private static Object withOptions(CatalogTable table, scala.collection.immutable.Map options) {
    HashMap changes = new HashMap();
    changes.put("properties", options);
    return Copies.changed(table.storage(), changes);
  }

  /** The table as the catalog stores it: how it was made is not a property of it. */
  static CatalogTable stored(CatalogTable table) {
    if (!table.partitionColumnNames().isEmpty()) {
      throw Session.unprepared("CREATE TABLE " + table.identifier().table() + " would lose PARTITIONED BY");
    }
    HashMap options = new HashMap(CollectionConverters.asJava(table.storage().properties()));
    options.remove(PARTITION_COLUMNS);
    options.remove(CREATE);
    options.remove(LIKE);
    options.remove(PROPERTIES);
    HashMap changes = new HashMap();
    changes.put("storage", withOptions(table, scala(options)));
    return (CatalogTable) Copies.changed(table, changes);
  }

  /** The table; refused is what a coalesce table does not have. */
  private static CatalogTable checked(CatalogTable table) {
    if (table.bucketSpec().isDefined()) {
      throw TableCommands.refused("CLUSTERED BY, or bucketBy,", table.identifier().table(), BUCKETS);
    }
    if (table.clusterBySpec().isDefined()) {
      throw TableCommands.refused("CLUSTER BY", table.identifier().table(), BUCKETS);
    }
    for (int i = 0; i < table.schema().length(); i++) {
      StructField column = table.schema().apply(i);
      if (CharVarcharUtils.hasCharVarchar(column.dataType())) {
        throw new IllegalArgumentException(
            "column " + column.name() + " is " + column.dataType().sql() + ", which a coalesce table does not have:"
                + " declare it as STRING.");
      }
    }
    return table;
  }

  /** Whether a name is one of our tables' properties. */
  static boolean isProperty(String name) {
    return name.startsWith("write.");
  }

  /** No rows, of some columns. */
  static LocalRelation empty(StructType columns) {
    return LocalRelation$.MODULE$.apply(DataTypeUtils.toAttributes(columns));
  }

  private static Seq names(StructType columns) {
    ArrayList names = new ArrayList();
    for (int i = 0; i < columns.length(); i++) {
      names.add(columns.apply(i).name());
    }
    return CollectionConverters.asScala(names).toSeq();
  }
}
