package coalesce.spark;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A table of a warehouse that rows are written to; or one that a query is to make, of which nothing is there before its
 * rows are.
 */
public class WritableTable implements SupportsWrite, StagedTable {
  private static final String SAVES = "org.apache.spark.sql.classic.DataFrameWriter";
  private static final Set CAN =
      new HashSet(
          Arrays.asList(
              new Object[] {
                TableCapability.V1_BATCH_WRITE,
                TableCapability.TRUNCATE,
                TableCapability.OVERWRITE_BY_FILTER
              }));

  private final Warehouse catalog;
  private final Identifier ident;
  private final StructType schema;
  private final Transform[] partitioning;
  private final String location;
  private final Map making;
  private boolean made;
  private boolean takesColumns;

  private WritableTable(
      Warehouse catalog, Identifier ident, StructType schema, Transform[] partitioning, String location, Map making) {
    this.catalog = catalog;
    this.ident = ident;
    // Nullable: what a column requires is checked where rows are written, with an error that names it.
    this.schema = schema.asNullable();
    this.partitioning = partitioning;
    this.location = location;
    this.making = making;
  }

  /** A table that is there. */
  static WritableTable of(Warehouse catalog, Identifier ident, Map found) {
    StructType schema = (StructType) DataType.fromJson((String) found.get("schema"));
    Transform[] partitioning = ShownTable.transforms((List) found.get("fields"), schema);
    return new WritableTable(catalog, ident, schema, partitioning, (String) found.get("location"), null);
  }

  /** One that is to be made, or to begin again, as a question to Python describes it. */
  static WritableTable staged(Warehouse catalog, Identifier ident, Map making, Column[] columns) {
    boolean saves = Callers.include(SAVES) && !Callers.include(SAVES + "V2");
    making.put("keeps", Boolean.valueOf(saves));
    making.put("default", saves ? SQLConf.get().defaultDataSourceName() : null);
    making.put("verb", "check");
    made(catalog, ident, Bridge.ask(making, SparkSession.active()));
    making.put("call", "stage");
    StructType schema = CatalogV2Util.v2ColumnsToStructType(columns);
    return new WritableTable(catalog, ident, schema, new Transform[0], null, making);
  }

  public String name() {
    return catalog.shown(ident);
  }

  public StructType schema() {
    return schema;
  }

  public Transform[] partitioning() {
    return partitioning;
  }

  public Set capabilities() {
    HashSet can = new HashSet(CAN);
    if (takesColumns) {
      can.add(TableCapability.ACCEPT_ANY_SCHEMA);
    }
    return can;
  }

  /** The same, to which columns are added that rows bring. */
  WritableTable thatTakesColumns() {
    WritableTable taking = new WritableTable(catalog, ident, schema, partitioning, location, making);
    taking.takesColumns = true;
    return taking;
  }

  boolean takesColumns() {
    return takesColumns;
  }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new TableWrite(this, new HashMap(info.options().asCaseSensitiveMap()));
  }

  /** Write rows, in one commit; `how` is that of `writes.py`. */
  void write(Dataset rows, String how, String where, Map options) {
    if (making != null) {
      making.put("options", options); // those of a DataFrame's writer, which are none of the table's properties
      make(rows);
      return;
    }
    Map question = Bridge.question("write");
    question.put("table", location);
    question.put("how", how);
    question.put("where", where);
    question.put("options", options);
    Bridge.ask(question, rows);
  }

  /** Make the table, with rows or, where there is no query, without. */
  private void make(Dataset rows) {
    made = true;
    making.put("rows", Boolean.valueOf(rows != null));
    made(catalog, ident, Bridge.ask(making, rows == null ? (Object) SparkSession.active() : rows));
  }

  private static void made(Warehouse catalog, Identifier ident, String answer) {
    try {
      catalog.checkMade(ident, Bridge.read(answer));
    } catch (TableAlreadyExistsException taken) {
      throw new IllegalArgumentException(taken.getMessage());
    } catch (NoSuchNamespaceException missing) {
      throw new IllegalArgumentException(missing.getMessage());
    }
  }

  public void commitStagedChanges() {
    if (making != null && !made) {
      make(null);
    }
  }

  public void abortStagedChanges() {}
}
