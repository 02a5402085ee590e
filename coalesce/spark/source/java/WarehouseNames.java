package coalesce.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.UnresolvedCatalogRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Gives the relation of a table of a warehouse its own name, so that `lake.db.events.app` is a column of it.
 *
 * <p>Spark names the relation of every V1Table as if it came from the session's catalog, which has namespaces of one part.
 * Names of columns are resolved after that.
 */
public class WarehouseNames extends Rule {
  /** Where a table of the catalog says what it is called, part by part, as JSON: no one else reads it. */
  static final String NAME = "coalesce.name";

  public TreeNode apply(TreeNode plan) {
    return ((LogicalPlan) plan).resolveOperatorsUp(new Named());
  }

  private static final class Named extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof SubqueryAlias && name((SubqueryAlias) node) != null;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      AliasIdentifier name = node instanceof SubqueryAlias ? name((SubqueryAlias) node) : null;
      return name == null ? otherwise.apply(node) : new SubqueryAlias(name, ((SubqueryAlias) node).child());
    }
  }

  /** What a relation is to be called; null if it is called so, or is not one of a warehouse under the name of a table. */
  private static AliasIdentifier name(SubqueryAlias alias) {
    CatalogTable table = alias.identifier().qualifier().isEmpty() ? null : table(alias.child());
    if (table == null || !table.ignoredProperties().contains(NAME)) {
      return null;
    }
    List parts = (List) Bridge.read((String) table.ignoredProperties().apply(NAME)).get("parts");
    ArrayList qualifier = new ArrayList(parts.subList(0, parts.size() - 1));
    String last = (String) parts.get(parts.size() - 1);
    AliasIdentifier own = new AliasIdentifier(last, (Seq) CollectionConverters.asScala(qualifier).toSeq());
    return own.equals(alias.identifier()) ? null : own;
  }

  private static CatalogTable table(LogicalPlan plan) {
    if (plan instanceof UnresolvedCatalogRelation) {
      return ((UnresolvedCatalogRelation) plan).tableMeta();
    }
    if (plan instanceof LogicalRelation && ((LogicalRelation) plan).catalogTable().isDefined()) {
      return (CatalogTable) ((LogicalRelation) plan).catalogTable().get();
    }
    return null;
  }
}
