package coalesce.spark;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Finds the table that rows are inserted into, before Spark looks for the names in a statement.
 *
 * <p>Spark looks a name up once for each statement. In INSERT INTO t SELECT … FROM t the one that is read would be taken
 * for the one that is written, and the two are not the same for a table of a warehouse. For a coalesce table of the
 * session's catalog Spark gives up where names are looked up: there it is said here what to write instead.
 */
public class InsertTargets extends Rule {
  private static final List TRAVEL =
      Arrays.asList(new Object[] {"versionasof", "timestampasof", "version", "asof"});

  private static final String INSTEAD =
      "write df.write.format(\"coalesce\").mode(…).saveAsTable(…), or, to replace some rows, with mode(\"overwrite\") and"
          + " option(\"replaceWhere\", …) to its path. Tables of a catalog from attach(spark, catalog=…) take both";
  private static final String COLUMN =
      "give the column among those that are selected; to replace one value's rows, write df.write.format(\"coalesce\")"
          + ".mode(\"overwrite\").option(\"replaceWhere\", …).save(path)";

  public TreeNode apply(TreeNode plan) {
    return ((LogicalPlan) plan).resolveOperatorsUp(new Found());
  }

  private static final class Found extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return target(node) != null || merging(node) != null;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      Object found = target(node) == null ? node : found(node, target(node));
      DataSourceV2Relation relation = merging(found);
      if (relation != null) {
        HashMap changes = new HashMap();
        changes.put("table", ((WritableTable) relation.table()).thatTakesColumns());
        Object taking = Copies.changed((Product) relation, changes);
        changes.clear();
        changes.put("table", taking);
        return Copies.changed((Product) found, changes);
      }
      return found == node ? otherwise.apply(node) : found;
    }
  }

  /**
   * The table, if columns that it lacks are to be added to it: rows then come as they are, where Spark would compare their
   * columns with the table's. They come by name; by position nobody could say which ones are new.
   */
  private static DataSourceV2Relation merging(Object node) {
    if (!(node instanceof V2WriteCommand) || !((V2WriteCommand) node).isByName()) {
      return null;
    }
    Object table = ((V2WriteCommand) node).table();
    boolean ours =
        table instanceof DataSourceV2Relation
            && ((DataSourceV2Relation) table).table() instanceof WritableTable
            && !((WritableTable) ((DataSourceV2Relation) table).table()).takesColumns();
    return ours && "true".equalsIgnoreCase(option(node, "mergeSchema")) ? (DataSourceV2Relation) table : null;
  }

  private static String option(Object node, String name) {
    scala.collection.immutable.Map options =
        node instanceof AppendData
            ? ((AppendData) node).writeOptions()
            : node instanceof OverwriteByExpression
                ? ((OverwriteByExpression) node).writeOptions()
                : node instanceof OverwritePartitionsDynamic ? ((OverwritePartitionsDynamic) node).writeOptions() : null;
    return options == null ? null : new CaseInsensitiveStringMap(CollectionConverters.asJava(options)).get(name);
  }

  /** What a statement writes to, if it has not been looked for yet. */
  private static UnresolvedRelation target(Object node) {
    Object table =
        node instanceof V2WriteCommand
            ? ((V2WriteCommand) node).table()
            : node instanceof InsertIntoStatement ? ((InsertIntoStatement) node).table() : null;
    return table instanceof UnresolvedRelation ? (UnresolvedRelation) table : null;
  }

  private static Object found(Object node, UnresolvedRelation target) {
    SessionState state = ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState();
    Seq parts = target.multipartIdentifier();
    if (state.catalog().isTempView(parts)) {
      return node;
    }
    CatalogManager catalogs = state.catalogManager();
    int first = parts.size() > 1 && catalogs.isCatalogRegistered((String) parts.apply(0)) ? 1 : 0;
    CatalogPlugin catalog = first == 1 ? catalogs.catalog((String) parts.apply(0)) : catalogs.currentCatalog();
    List names = CollectionConverters.asJava((scala.collection.Seq) parts).subList(first, parts.size());
    if (!(catalog instanceof Warehouse)) {
      checkPlain(node, catalog, names);
      return node;
    }
    String[] namespace =
        first == 0 && names.size() == 1
            ? catalogs.currentNamespace()
            : (String[]) names.subList(0, names.size() - 1).toArray(new String[0]);
    Identifier ident = Identifier.of(namespace, (String) names.get(names.size() - 1));
    for (int i = 0; i < TRAVEL.size(); i++) {
      if (target.options().containsKey(TRAVEL.get(i))) {
        throw new Refused("writing to a version of the past is not possible: leave out " + TRAVEL.get(i) + ".");
      }
    }
    try {
      HashMap changes = new HashMap();
      changes.put("options", target.clearWritePrivileges().options());
      Object relation =
          DataSourceV2Relation.create(
              ((Warehouse) catalog).writable(ident), Option.apply(catalog), Option.apply(ident));
      relation = Copies.changed((Product) relation, changes);
      changes.clear();
      changes.put("table", relation);
      return Copies.changed((Product) node, changes);
    } catch (NoSuchTableException missing) {
      return node; // Spark says so
    }
  }

  /** Whether an INSERT says which rows it replaces: from Spark 4.3 on, it is not another command by then. */
  private static boolean replaces(Product insert) {
    for (int i = 0; i < insert.productArity(); i++) {
      if (insert.productElementName(i).equals("replaceCriteriaOpt")) {
        return ((Option) insert.productElement(i)).isDefined();
      }
    }
    return false;
  }

  /** Say what to write instead to a coalesce table of the session's catalog. */
  private static void checkPlain(Object node, CatalogPlugin catalog, List names) {
    boolean partition =
        node instanceof InsertIntoStatement && !((InsertIntoStatement) node).partitionSpec().isEmpty();
    boolean refused = partition || node instanceof V2WriteCommand || replaces((Product) node);
    if (!catalog.name().equals("spark_catalog") || names.size() > 2 || !refused) {
      return;
    }
    String last = (String) names.get(names.size() - 1);
    TableIdentifier name =
        names.size() == 1 ? new TableIdentifier(last) : new TableIdentifier(last, Option.apply((String) names.get(0)));
    if (Catalog.find(name) != null) {
      throw partition
          ? TableCommands.refused("INSERT … PARTITION (…)", last, COLUMN)
          : TableCommands.refused("df.writeTo, or INSERT … REPLACE WHERE,", last, INSTEAD);
    }
  }
}
