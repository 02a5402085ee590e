package coalesce.spark;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEventListener;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.internal.SharedState;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The catalog of a driver, in-memory or Hive's, as it was; only that it knows what a coalesce table is.
 *
 * <p>A table's columns are in its newest version. The catalog stores none, which would be out of date after the next
 * evolution; a look-up of the table gives the columns it has now. What would remove a table that no one asked to
 * remove, or enter partitions of which the table knows nothing, is refused.
 */
public class Catalog extends ExternalCatalogWithListener {
  private static final String SAVES_AS_TABLE = "org.apache.spark.sql.execution.command.SaveAsV1TableCommand";
  private static final String RESOLVES_A_QUERY = "org.apache.spark.sql.catalyst.analysis.RelationResolution";

  private Catalog(ExternalCatalogWithListener before) {
    super(before.unwrapped());
    List listeners = before.listeners();
    for (int i = 0; i < listeners.size(); i++) {
      addListener((ExternalCatalogEventListener) listeners.get(i));
    }
  }

  /** Put one in front of the catalog that all sessions share, for those to come and for this one. */
  static synchronized void install(SparkSession session) {
    org.apache.spark.sql.classic.SparkSession classic = (org.apache.spark.sql.classic.SparkSession) session;
    SharedState shared = classic.sharedState();
    SessionCatalog own = classic.sessionState().catalog();
    try {
      if (!(shared.externalCatalog() instanceof Catalog)) {
        set(SharedState.class, shared, new Catalog(shared.externalCatalog()));
      }
      if (!(own.externalCatalog() instanceof Catalog)) {
        set(SessionCatalog.class, own, shared.externalCatalog());
      }
    } catch (ReflectiveOperationException changed) {
      throw new IllegalStateException(changed);
    }
  }

  private static void set(Class owner, Object object, Object catalog) throws ReflectiveOperationException {
    Field field = owner.getDeclaredField("externalCatalog");
    field.setAccessible(true);
    field.set(object, catalog);
  }

  /** Whether a table of the catalog is a coalesce table. */
  static boolean isOurs(CatalogTable table) {
    return table.provider().isDefined() && "coalesce".equalsIgnoreCase((String) table.provider().get());
  }

  /** Where a table lies, as Python's storage takes it; null if the catalog does not say. */
  static String location(CatalogTable table) {
    return table.storage().locationUri().isEmpty()
        ? null
        : NativeSource.location(CatalogUtils.URIToString((java.net.URI) table.storage().locationUri().get()));
  }

  public CatalogTable getTable(String db, String table) {
    return withColumns(super.getTable(db, table));
  }

  public Seq getTablesByName(String db, Seq tables) {
    ArrayList known = new ArrayList();
    List found = CollectionConverters.asJava(super.getTablesByName(db, tables));
    for (int i = 0; i < found.size(); i++) {
      known.add(withColumns((CatalogTable) found.get(i)));
    }
    return CollectionConverters.asScala(known).toSeq();
  }

  /** A query has its columns from the relation: it need not ask twice. A table that cannot be read shows none. */
  private static CatalogTable withColumns(CatalogTable table) {
    if (!isOurs(table) || location(table) == null || Callers.include(RESOLVES_A_QUERY)) {
      return table;
    }
    try {
      return withSchema(table, (StructType) DataType.fromJson((String) described(table).get("schema")));
    } catch (RuntimeException unreadable) {
      return table;
    }
  }

  /** What the table has now: its "schema", as JSON, and the texts of its partition "fields". */
  static Map described(CatalogTable table) {
    return described(location(table), CollectionConverters.asJava(table.storage().properties()));
  }

  static Map described(String location, Map options) {
    Map question = Bridge.question("columns");
    question.put("table", location);
    question.put("options", new HashMap(options));
    return Bridge.read(Bridge.ask(question, SparkSession.active()));
  }

  private static CatalogTable withSchema(CatalogTable table, StructType schema) {
    HashMap changes = new HashMap();
    changes.put("schema", schema);
    return (CatalogTable) Copies.changed(table, changes);
  }

  public void createTable(CatalogTable table, boolean ignoreIfExists) {
    super.createTable(isOurs(table) ? CreateTables.stored(withSchema(table, new StructType())) : table, ignoreIfExists);
  }

  public void alterTable(CatalogTable table) {
    super.alterTable(isOurs(table) ? withSchema(table, new StructType()) : table);
  }

  /** saveAsTable in overwrite mode begins with a drop. `CreateTables` keeps it from that, where it is in the session. */
  public void dropTable(String db, String table, boolean ignoreIfNotExists, boolean purge) {
    if (Callers.include(SAVES_AS_TABLE) && tableExists(db, table) && isOurs(super.getTable(db, table))) {
      throw Session.unprepared("saveAsTable would delete the coalesce table " + table + " with its history");
    }
    super.dropTable(db, table, ignoreIfNotExists, purge);
  }

  public void dropDatabase(String db, boolean ignoreIfNotExists, boolean cascade) {
    if (databaseExists(db)) {
      PlainWrites.refuseDrop(this, db, cascade);
    }
    super.dropDatabase(db, ignoreIfNotExists, cascade);
  }

  public void alterTableDataSchema(String db, String table, StructType schema) {
    refuse(db, table, "ALTER TABLE");
    super.alterTableDataSchema(db, table, schema);
  }

  public void alterTableSchema(String db, String table, StructType schema) {
    refuse(db, table, "ALTER TABLE");
    super.alterTableSchema(db, table, schema);
  }

  public void createPartitions(String db, String table, Seq parts, boolean ignoreIfExists) {
    refuse(db, table, "ALTER TABLE … ADD PARTITION");
    super.createPartitions(db, table, parts, ignoreIfExists);
  }

  private void refuse(String db, String table, String what) {
    if (isOurs(super.getTable(db, table))) {
      throw TableCommands.refused(what, table, "use the methods of coalesce.open(…)");
    }
  }

  /** The table of that name if it is a coalesce table, else null. */
  static CatalogTable find(TableIdentifier name) {
    CatalogTable table = table(name);
    return table != null && isOurs(table) ? table : null;
  }

  /** The table of that name, or null if there is none. */
  static CatalogTable table(TableIdentifier name) {
    SessionCatalog catalog =
        ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().catalog();
    try {
      return catalog.isTempView(name) || !catalog.tableExists(name) ? null : catalog.getTableMetadata(name);
    } catch (AnalysisException dropped) { // meanwhile, by someone else
      return null;
    }
  }
}
