package coalesce.spark;

import java.util.HashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.RelationTimeTravel;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import scala.Function1;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * The table that lies at a path, in SQL: coalesce.`/data/events`.
 *
 * <p>Spark takes such names for files of sources that are nothing but files. A name with a slash in it is no table of a
 * database called coalesce, should there be one.
 */
public class PathTables extends Rule {

  public TreeNode apply(TreeNode plan) {
    return ((LogicalPlan) plan).resolveOperatorsUp(new Found());
  }

  private static final class Found extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return isPath(node)
          || (node instanceof InsertIntoStatement && isPath(((InsertIntoStatement) node).table()))
          || (node instanceof RelationTimeTravel
              && isPath(((RelationTimeTravel) node).relation())
              && ((RelationTimeTravel) node).version().isDefined());
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) {
        return otherwise.apply(node);
      }
      if (node instanceof InsertIntoStatement) {
        HashMap changes = new HashMap();
        changes.put("table", found(((InsertIntoStatement) node).table(), null));
        return Copies.changed((Product) node, changes);
      }
      if (node instanceof RelationTimeTravel) {
        RelationTimeTravel past = (RelationTimeTravel) node;
        return found(past.relation(), (String) past.version().get());
      }
      return found(node, null);
    }
  }

  private static boolean isPath(Object node) {
    if (!(node instanceof UnresolvedRelation)) {
      return false;
    }
    UnresolvedRelation relation = (UnresolvedRelation) node;
    Seq parts = relation.multipartIdentifier();
    return parts.size() == 2
        && "coalesce".equalsIgnoreCase((String) parts.apply(0))
        && ((String) parts.apply(1)).indexOf('/') >= 0
        && !relation.isStreaming();
  }

  private static Object found(Object named, String version) {
    UnresolvedRelation relation = (UnresolvedRelation) named;
    HashMap options = new HashMap(relation.clearWritePrivileges().options().asCaseSensitiveMap());
    options.put("path", relation.multipartIdentifier().apply(1));
    if (version != null) {
      options.put("version", version);
    }
    return LogicalRelation$.MODULE$.apply(
        NativeSource.resolve(SparkSession.active(), CreateTables.scala(options), null), false);
  }
}
