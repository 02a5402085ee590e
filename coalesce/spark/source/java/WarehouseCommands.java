package coalesce.spark;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.TruncateTable;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Commands on a table of a warehouse that Spark has no way for, or refuses without saying what to write instead.
 *
 * <p>A rule of the analyzer, the last one before Spark checks what it has analysed: later, a query has been optimized and
 * could not be given to a write as a Dataset. Analyzers are made with their rules; a live session's is given another one
 * by reflection. Where a later Spark does not let us, it refuses these commands in its own words.
 */
public class WarehouseCommands extends Rule {
  private static final String PARTITIONS = "its logical partitions are what its rows say: remove one with DELETE FROM or"
      + " drop_partition(…), and rows make new ones";
  private static final Map REFUSED = new HashMap();

  static {
    REFUSED.put("ShowPartitions", new String[] {"SHOW PARTITIONS", "write SELECT * FROM %s.partitions"});
    REFUSED.put("AddPartitions", new String[] {"ALTER TABLE … ADD PARTITION", PARTITIONS});
    REFUSED.put("DropPartitions", new String[] {"ALTER TABLE … DROP PARTITION", PARTITIONS});
    REFUSED.put("RenamePartitions", new String[] {"ALTER TABLE … RENAME PARTITION", PARTITIONS});
    REFUSED.put("RecoverPartitions", new String[] {"ALTER TABLE … RECOVER PARTITIONS", PARTITIONS});
    REFUSED.put("RepairTable", new String[] {"MSCK REPAIR TABLE", PARTITIONS});
    REFUSED.put("TruncatePartition", new String[] {"TRUNCATE TABLE … PARTITION", PARTITIONS});
    REFUSED.put("AnalyzeTable", new String[] {"ANALYZE TABLE", "every file's entry has its statistics already"});
    REFUSED.put("AnalyzeColumn", new String[] {"ANALYZE TABLE", "every file's entry has its statistics already"});
    REFUSED.put("LoadData", new String[] {"LOAD DATA", "read the files with spark.read and INSERT INTO the table"});
    REFUSED.put("SetTableLocation", new String[] {"SET LOCATION", "it lies in its warehouse, under its name"});
    REFUSED.put("SetTableSerDeProperties", new String[] {"SET SERDEPROPERTIES", "use SET TBLPROPERTIES"});
    REFUSED.put("ShowTablePartition", new String[] {"SHOW TABLE EXTENDED … PARTITION", "write SELECT * FROM %s.partitions"});
  }

  public TreeNode apply(TreeNode plan) {
    if (plan instanceof OverwritePartitionsDynamic) {
      return dynamic((OverwritePartitionsDynamic) plan);
    }
    ResolvedTable target = target(plan);
    if (target == null) {
      return plan;
    }
    if (plan instanceof TruncateTable && target.table() instanceof V1Table) {
      return new SaveIntoDataSourceCommand(
          (LogicalPlan) CreateTables.empty(new StructType()),
          new TableCommands.Truncate(),
          TableCommands.options(((V1Table) target.table()).v1Table()),
          SaveMode.Overwrite);
    }
    String[] why = (String[]) REFUSED.get(plan.getClass().getSimpleName());
    if (why != null) {
      String name = ((Warehouse) target.catalog()).shown(target.identifier());
      throw TableCommands.refused(why[0], name, why[1].replace("%s", name));
    }
    return plan;
  }

  /** INSERT OVERWRITE in mode dynamic, or overwritePartitions: Spark would have executors write the rows. */
  private static TreeNode dynamic(OverwritePartitionsDynamic command) {
    // As what every write has: in Spark 4.3 it has two of its own, of which Janino cannot choose one.
    Object table = ((V2WriteCommand) command).table();
    if (!(table instanceof DataSourceV2Relation) || !command.resolved()) {
      return command;
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) table;
    if (!(relation.table() instanceof WritableTable)) {
      return command;
    }
    HashMap options = new HashMap(relation.options().asCaseSensitiveMap());
    options.putAll(CollectionConverters.asJava(command.writeOptions()));
    return new SaveIntoDataSourceCommand(
        command.query(),
        TableWrite.partitions((WritableTable) relation.table(), options),
        command.writeOptions(),
        SaveMode.Overwrite);
  }

  /** The table of a warehouse that a command is about, or null. */
  private static ResolvedTable target(TreeNode plan) {
    List children = CollectionConverters.asJava(plan.children());
    Object first = children.isEmpty() ? null : children.get(0);
    boolean ours = first instanceof ResolvedTable && ((ResolvedTable) first).catalog() instanceof Warehouse;
    return ours ? (ResolvedTable) first : null;
  }

  /** Give a session's analyzer this rule and the others that it needs, once. */
  static synchronized void install(SparkSession session) {
    Object analyzer = ((org.apache.spark.sql.classic.SparkSession) session).sessionState().analyzer();
    try {
      add(analyzer, "hintResolutionRules", new PathTables());
      add(analyzer, "hintResolutionRules", new InsertTargets());
      add(analyzer, "extendedResolutionRules", new WarehouseNames());
      add(analyzer, "postHocResolutionRules", new WarehouseCommands());
    } catch (ReflectiveOperationException changed) {
      return;
    } catch (RuntimeException forbidden) {
      return;
    }
  }

  private static void add(Object analyzer, String batch, Rule rule) throws ReflectiveOperationException {
    Field field = field(analyzer.getClass(), batch);
    field.setAccessible(true);
    ArrayList rules = new ArrayList(CollectionConverters.asJava((scala.collection.Seq) field.get(analyzer)));
    for (int i = 0; i < rules.size(); i++) {
      if (rules.get(i).getClass() == rule.getClass()) {
        return;
      }
    }
    rules.add(rule);
    field.set(analyzer, CollectionConverters.asScala(rules).toSeq());
  }

  /** The field that a class reads: its own, or else that of the class it extends. */
  private static Field field(Class kind, String name) throws ReflectiveOperationException {
    try {
      return kind.getDeclaredField(name);
    } catch (NoSuchFieldException inherited) {
      if (kind.getSuperclass() == null) {
        throw inherited;
      }
      return field(kind.getSuperclass(), name);
    }
  }
}
