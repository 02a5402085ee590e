package coalesce.spark;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A catalog of the coalesce tables below a directory, its warehouse. Python knows the directory; this knows Spark.
 *
 * <p>A table that is read is a V1Table, so that Spark makes a CoalesceRelation of it, with its own Parquet scan. One that
 * rows are inserted into is a WritableTable: Spark matches rows to columns, takes PARTITION (…) and REPLACE WHERE apart,
 * and hands the rows over as a Dataset.
 */
public class Warehouse implements StagingTableCatalog, SupportsNamespaces, ProcedureCatalog {
  /** What looks up the tables that rows are read of; commands such as ALTER TABLE look theirs up otherwise. */
  private static final String READS = "org.apache.spark.sql.catalyst.analysis.RelationResolution";

  private static final String MERGES = "org.apache.spark.sql.classic.MergeIntoWriter";

  private String name;
  private String root;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    Map question = Bridge.question("catalog");
    question.put("verb", "open");
    question.put("catalog", name);
    question.put("location", options.get("warehouse"));
    this.root = (String) Bridge.read(Bridge.ask(question, SparkSession.active())).get("warehouse");
  }

  /**
   * Let a session forget the catalog of a name, for which it has no settings any more: Spark keeps what it has loaded.
   * Where a later Spark does not let us, it stays, and `attach` refuses the name for another one.
   */
  public static void forget(SparkSession session, String name) {
    Object manager = ((org.apache.spark.sql.classic.SparkSession) session).sessionState().catalogManager();
    try {
      Field field = manager.getClass().getDeclaredField("catalogs"); // an interface has none, as Spark 4.3 has it
      field.setAccessible(true);
      synchronized (manager) {
        ((scala.collection.mutable.Map) field.get(manager)).remove(name);
      }
    } catch (ReflectiveOperationException changed) {
      return;
    } catch (RuntimeException forbidden) {
      return;
    }
  }

  public String name() {
    return name;
  }

  /** The directory, absolute. */
  public String root() {
    return root;
  }

  // --- tables --------------------------------------------------------------------------------------------------

  public Table loadTable(Identifier ident) throws NoSuchTableException {
    return read(ident, question("load", parts(ident)));
  }

  public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
    Map question = question("load", parts(ident));
    question.put("version", version);
    return read(ident, question);
  }

  public Table loadTable(Identifier ident, long micros) throws NoSuchTableException {
    Map question = question("load", parts(ident));
    question.put("micros", Long.valueOf(micros));
    return read(ident, question);
  }

  /**
   * A table that is to be written. MERGE, UPDATE and DELETE go by the relation that is read, and a MERGE that only
   * inserts asks for nothing else than an INSERT does: `Parser` takes what it asks for out of its text.
   */
  public Table loadTable(Identifier ident, Set privileges) throws NoSuchTableException {
    boolean inserts =
        privileges.contains(TableWritePrivilege.INSERT)
            && !privileges.contains(TableWritePrivilege.UPDATE)
            && !Callers.include(MERGES);
    return inserts ? (Table) writable(ident) : loadTable(ident);
  }

  /** A table as rows are inserted into it. */
  WritableTable writable(Identifier ident) throws NoSuchTableException {
    Map found = table(ident, question("load", parts(ident)));
    if (found.containsKey("metadata")) {
      throw new UnsupportedOperationException(
          shown(ident) + " shows what is so of a table, and cannot be written to.");
    }
    return WritableTable.of(this, ident, found);
  }

  private Table read(Identifier ident, Map question) throws NoSuchTableException {
    question.put("reads", Boolean.valueOf(Callers.include(READS)));
    question.put("seen", NativeSource.seen());
    Map found = table(ident, question);
    NativeSource.saw((String) found.get("location"), found.get("newest"), found.get("key"), found.get("reads"));
    return found.containsKey("metadata")
        ? (Table) new MetadataTable(shown(ident), found)
        : (Table) ShownTable.of(this, ident, found);
  }

  private Map table(Identifier ident, Map question) throws NoSuchTableException {
    Map found = ask(question);
    if (found.containsKey("missing")) {
      throw new NoSuchTableException(ident);
    }
    return found;
  }

  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    List names = (List) inside("tables", namespace).get("names");
    Identifier[] tables = new Identifier[names.size()];
    for (int i = 0; i < tables.length; i++) {
      tables[i] = Identifier.of(namespace, (String) names.get(i));
    }
    return tables;
  }

  public Table createTable(Identifier ident, Column[] columns, Transform[] partitions, Map properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    Map question = described("create", ident, columns, partitions, properties);
    checkMade(ident, ask(question));
    try {
      return loadTable(ident);
    } catch (NoSuchTableException dropped) { // meanwhile, by someone else
      throw new IllegalStateException(dropped);
    }
  }

  public Table alterTable(Identifier ident, TableChange[] changes) throws NoSuchTableException {
    Map question = question("alter", parts(ident));
    question.put("changes", Changes.of(changes));
    try {
      table(ident, question);
    } catch (IllegalArgumentException refused) {
      throw new Refused(refused.getMessage());
    }
    return loadTable(ident);
  }

  public boolean dropTable(Identifier ident) {
    return dropped(ask(question("drop", parts(ident))));
  }

  private static boolean dropped(Map answer) {
    PlannedFiles.forget();
    return ((Boolean) answer.get("dropped")).booleanValue();
  }

  /** A table is its directory: there is no dropping it without its files. */
  public boolean purgeTable(Identifier ident) {
    return dropTable(ident);
  }

  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException(
        "ALTER TABLE " + shown(from) + " RENAME does not work: a table is its directory, and whoever writes to it would"
            + " go on in the old one. Make a copy with CREATE TABLE … AS SELECT * FROM " + shown(from) + ", or stop all"
            + " writers and rename the directory, which lies below " + root + ".");
  }

  // --- tables that a query makes -------------------------------------------------------------------------------

  public StagedTable stageCreate(Identifier ident, Column[] columns, Transform[] partitions, Map properties)
      throws TableAlreadyExistsException {
    if (tableExists(ident)) {
      throw new TableAlreadyExistsException(ident);
    }
    return WritableTable.staged(this, ident, described("create", ident, columns, partitions, properties), columns);
  }

  public StagedTable stageReplace(Identifier ident, Column[] columns, Transform[] partitions, Map properties)
      throws NoSuchTableException {
    if (!tableExists(ident)) {
      throw new NoSuchTableException(ident);
    }
    return stageCreateOrReplace(ident, columns, partitions, properties);
  }

  public StagedTable stageCreateOrReplace(
      Identifier ident, Column[] columns, Transform[] partitions, Map properties) {
    Map question = described("replace", ident, columns, partitions, properties);
    return WritableTable.staged(this, ident, question, columns);
  }

  /** What is said of a table that is to be made. */
  private Map described(String how, Identifier ident, Column[] columns, Transform[] partitions, Map properties) {
    Map question = question(how, parts(ident));
    question.put("how", how);
    question.put("schema", CatalogV2Util.v2ColumnsToStructType(columns).json());
    question.put("fields", Parser.texts(partitions, shown(ident)));
    question.put("properties", new HashMap(properties));
    return question;
  }

  /** Throw what Spark throws if an answer says that a table could not be made. */
  void checkMade(Identifier ident, Map answer) throws TableAlreadyExistsException, NoSuchNamespaceException {
    if ("table".equals(answer.get("taken"))) {
      throw new TableAlreadyExistsException(ident);
    }
    if (answer.containsKey("taken")) {
      throw new IllegalArgumentException(
          "there is a namespace " + shown(ident) + " already, and a table cannot have its name; choose another one, or"
              + " DROP NAMESPACE first.");
    }
    if (answer.containsKey("missing")) {
      throw new NoSuchNamespaceException(ident.namespace());
    }
  }

  // --- namespaces ----------------------------------------------------------------------------------------------

  public String[][] listNamespaces() throws NoSuchNamespaceException {
    return listNamespaces(new String[0]);
  }

  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    List names = (List) inside("namespaces", namespace).get("names");
    String[][] found = new String[names.size()][];
    for (int i = 0; i < found.length; i++) {
      found[i] = (String[]) Arrays.copyOf(namespace, namespace.length + 1);
      found[i][namespace.length] = (String) names.get(i);
    }
    return found;
  }

  public Map loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    HashMap metadata = new HashMap();
    metadata.put("location", inside("namespace", namespace).get("location"));
    return metadata;
  }

  public void createNamespace(String[] namespace, Map properties) throws NamespaceAlreadyExistsException {
    Map question = question("create namespace", Arrays.asList((Object[]) namespace));
    question.put("properties", new HashMap(properties));
    Map answer = ask(question);
    if ("namespace".equals(answer.get("taken"))) {
      throw new NamespaceAlreadyExistsException(namespace);
    }
    if (answer.containsKey("taken")) {
      throw new IllegalArgumentException(
          "there is a table of the name " + shown(namespace) + ", and a namespace cannot have it; choose another one.");
    }
    if (answer.containsKey("missing")) {
      throw new IllegalArgumentException(
          "there is no namespace that " + shown(namespace) + " could be made in; CREATE NAMESPACE for each of its parts,"
              + " from the left.");
    }
  }

  public void alterNamespace(String[] namespace, NamespaceChange[] changes) {
    throw new UnsupportedOperationException(
        "the namespace " + shown(namespace) + " is a directory: it has no comment, no properties and no other place.");
  }

  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    Map question = question("drop namespace", Arrays.asList((Object[]) namespace));
    question.put("cascade", Boolean.valueOf(cascade));
    Map answer = ask(question);
    if (answer.containsKey("notEmpty")) {
      throw new NonEmptyNamespaceException(namespace);
    }
    return dropped(answer);
  }

  // --- procedures ----------------------------------------------------------------------------------------------

  public UnboundProcedure loadProcedure(Identifier ident) {
    Map all = ask(question("procedures", new ArrayList()));
    boolean system = ident.namespace().length == 1 && ident.namespace()[0].equalsIgnoreCase("system");
    Map described = system ? (Map) all.get(ident.name()) : null;
    String procedure = described == null ? shown(ident) : ident.name();
    return new TableProcedure(this, procedure, described, join(all.keySet()));
  }

  public Identifier[] listProcedures(String[] namespace) {
    if (namespace.length != 1 || !namespace[0].equalsIgnoreCase("system")) {
      return new Identifier[0];
    }
    Object[] names = ask(question("procedures", new ArrayList())).keySet().toArray();
    Identifier[] found = new Identifier[names.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = Identifier.of(namespace, (String) names[i]);
    }
    return found;
  }

  // --- questions -----------------------------------------------------------------------------------------------

  /** A question to Python's side of this catalog, about what has this name. */
  Map question(String verb, List parts) {
    Map question = Bridge.question("catalog");
    question.put("verb", verb);
    question.put("catalog", name);
    question.put("warehouse", root);
    question.put("name", parts);
    return question;
  }

  private static Map ask(Map question) {
    return Bridge.read(Bridge.ask(question, SparkSession.active()));
  }

  private Map inside(String verb, String[] namespace) throws NoSuchNamespaceException {
    Map answer = ask(question(verb, Arrays.asList((Object[]) namespace)));
    if (answer.containsKey("missing")) {
      throw new NoSuchNamespaceException(namespace);
    }
    return answer;
  }

  private static List parts(Identifier ident) {
    ArrayList parts = new ArrayList(Arrays.asList((Object[]) ident.namespace()));
    parts.add(ident.name());
    return parts;
  }

  /** What `WarehouseNames` is to know of a table. */
  Map named(Identifier ident) {
    ArrayList parts = new ArrayList(parts(ident));
    parts.add(0, name);
    HashMap said = new HashMap();
    said.put("parts", parts);
    HashMap property = new HashMap();
    property.put(WarehouseNames.NAME, Bridge.write(said));
    return property;
  }

  /** A name with the catalog's in front, for people. */
  String shown(Identifier ident) {
    return shown((String[]) parts(ident).toArray(new String[0]));
  }

  private String shown(String[] parts) {
    return parts.length == 0 ? name : name + "." + String.join(".", parts);
  }

  private static String join(Set names) {
    return String.join(", ", (String[]) names.toArray(new String[0]));
  }
}
