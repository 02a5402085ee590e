package coalesce.spark;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.command.AlterTableSetLocationCommand;
import org.apache.spark.sql.execution.command.AlterTableSetPropertiesCommand;
import org.apache.spark.sql.execution.command.TruncateTableCommand;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Commands on a table of the catalog that Spark would carry out on its directory, or in the catalog alone.
 *
 * <p>TRUNCATE becomes a version of the table. What a coalesce table does by other means is refused, with the means.
 */
public class TableCommands extends Rule {
  private static final String PARTITIONS =
      "its partitions are what its rows say: drop one with coalesce.open(…).drop_partition(…), and rows make new ones";
  private static final String COLUMNS =
      "change columns with coalesce.open(…): add_column, drop_column, rename_column, widen_column, reorder";
  private static final Map REFUSED = new HashMap();

  static {
    REFUSED.put("AlterTableAddPartitionCommand", new String[] {"ALTER TABLE … ADD PARTITION", PARTITIONS});
    REFUSED.put("AlterTableDropPartitionCommand", new String[] {"ALTER TABLE … DROP PARTITION", PARTITIONS});
    REFUSED.put("AlterTableRenamePartitionCommand", new String[] {"ALTER TABLE … RENAME PARTITION", PARTITIONS});
    REFUSED.put("RepairTableCommand", new String[] {"MSCK REPAIR TABLE, or RECOVER PARTITIONS,", PARTITIONS});
    REFUSED.put("ShowPartitionsCommand",
        new String[] {"SHOW PARTITIONS", "use coalesce.open(…).partitions(), or `coalesce partitions` on the command line"});
    REFUSED.put("AnalyzePartitionCommand",
        new String[] {"ANALYZE TABLE … PARTITION", "every file's entry has its statistics already"});
    REFUSED.put("LoadDataCommand",
        new String[] {"LOAD DATA", "read the files with spark.read and INSERT INTO the table"});
    REFUSED.put("AlterTableAddColumnsCommand", new String[] {"ALTER TABLE … ADD COLUMNS", COLUMNS});
    REFUSED.put("AlterTableChangeColumnCommand", new String[] {"ALTER TABLE … ALTER COLUMN", COLUMNS});
    REFUSED.put("AlterTableSerDePropertiesCommand",
        new String[] {"ALTER TABLE … SET SERDEPROPERTIES", "use coalesce.open(…).set_properties(…)"});
  }

  public TreeNode apply(TreeNode plan) {
    if (plan instanceof TruncateTableCommand) {
      TruncateTableCommand command = (TruncateTableCommand) plan;
      CatalogTable table = Catalog.find(command.tableName());
      if (table == null) {
        return plan;
      }
      if (command.partitionSpec().isDefined()) {
        throw refused("TRUNCATE TABLE … PARTITION", command.tableName().table(), PARTITIONS);
      }
      return new SaveIntoDataSourceCommand(
          (LogicalPlan) CreateTables.empty(new StructType()), new Truncate(), options(table), SaveMode.Overwrite);
    }
    if (plan instanceof AlterTableSetPropertiesCommand) {
      refuseProperties((AlterTableSetPropertiesCommand) plan);
      return plan;
    }
    if (plan instanceof AlterTableSetLocationCommand) {
      checkLocation((AlterTableSetLocationCommand) plan);
      return plan;
    }
    if (plan instanceof ShowCreateTable) {
      return ShownTable.in((ShowCreateTable) plan);
    }
    String[] why = (String[]) REFUSED.get(plan.getClass().getSimpleName());
    TableIdentifier name = why == null ? null : name((Product) plan);
    if (name != null && Catalog.find(name) != null) {
      throw refused(why[0], name.table(), why[1]);
    }
    return plan;
  }

  static RuntimeException refused(String what, String table, String instead) {
    return new UnsupportedOperationException(
        what + " does not work on the coalesce table " + table + ": " + instead + ".");
  }

  /**
   * Where a table is said to lie now, there must be one: the catalog believes it at once. And a managed table, of any
   * kind, does not move to where a coalesce table lies: dropping the one would delete the other.
   */
  private static void checkLocation(AlterTableSetLocationCommand command) {
    String name = command.tableName().table();
    CatalogTable table = Catalog.table(command.tableName());
    boolean ours = table != null && Catalog.isOurs(table);
    if (ours && command.partitionSpec().isDefined()) {
      throw refused("ALTER TABLE … PARTITION … SET LOCATION", name, PARTITIONS);
    }
    if (table != null
        && table.tableType().equals(CatalogTableType.MANAGED())
        && (ours || PlainWrites.isTable(command.location()))) {
      throw new UnsupportedOperationException(
          "ALTER TABLE " + name + " SET LOCATION '" + command.location() + "' does not work on a managed table: DROP"
              + " TABLE would delete what lies there. Name that table with CREATE TABLE … LOCATION.");
    }
    if (!ours) {
      return;
    }
    Catalog.described(NativeSource.location(command.location()), new HashMap());
  }

  /** The properties of a table are its own; those of the catalog are never looked at. */
  private static void refuseProperties(AlterTableSetPropertiesCommand command) {
    if (command.isView() || Catalog.find(command.tableName()) == null) {
      return;
    }
    Iterator names = CollectionConverters.asJava(command.properties()).keySet().iterator();
    while (names.hasNext()) {
      String name = (String) names.next();
      if (name.equals("clusteringColumns")) {
        throw refused("CLUSTER BY", command.tableName().table(), CreateTables.BUCKETS);
      }
      if (CreateTables.isProperty(name)) {
        throw refused(
            "ALTER TABLE … SET TBLPROPERTIES ('" + name + "' …)",
            command.tableName().table(),
            "use coalesce.open(…).set_properties(…)");
      }
    }
  }

  /** The table that a command is about. */
  private static TableIdentifier name(Product command) {
    for (int i = 0; i < command.productArity(); i++) {
      if (command.productElement(i) instanceof TableIdentifier) {
        return (TableIdentifier) command.productElement(i);
      }
    }
    return null;
  }

  /** A table's options in the catalog, and where it lies. */
  static scala.collection.immutable.Map options(CatalogTable table) {
    return (scala.collection.immutable.Map)
        table.storage().properties().updated("path", table.location().toString());
  }

  /** TRUNCATE, as something Spark "saves" when it runs the command and not when it only explains it. */
  public static class Truncate implements CreatableRelationProvider {
    public BaseRelation createRelation(
        SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset none) {
      Map question = Bridge.question("truncate");
      question.put("table", NativeSource.location(options));
      question.put("options", new HashMap(CollectionConverters.asJava(options)));
      Bridge.ask(question, context.sparkSession());
      return new WrittenTable(context, new StructType());
    }

    public boolean supportsDataType(DataType type) {
      return true;
    }

    public String toString() {
      return "truncate coalesce";
    }
  }
}
