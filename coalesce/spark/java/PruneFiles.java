package coalesce.spark;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Function1;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.BigInt;
import scala.runtime.AbstractPartialFunction;

/**
 * Tells the optimizer what a scan under its filters will leave, so that small results are broadcast, and explain() can
 * say it. It also keeps, for `listFiles`, filters that Spark would not show there: see `PlannedFiles.under`.
 *
 * <p>A session's answers do not depend on it: without this rule a scan prunes by what `listFiles` is given.
 */
public class PruneFiles extends Rule {

  public TreeNode apply(TreeNode plan) {
    return plan.transformDown(new Scans());
  }

  /** A scan with the filter above it, or alone, that has not been estimated as it stands. */
  private static final class Scans extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return pruned(node) != null;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      Object pruned = pruned(node);
      return pruned == null ? otherwise.apply(node) : pruned;
    }

    private static LogicalPlan pruned(Object node) {
      if (node instanceof Filter && files(((Filter) node).child()) != null) {
        Filter filter = (Filter) node;
        LogicalRelation scan = (LogicalRelation) filter.child();
        LogicalPlan estimated = estimated(scan, Filters.bySql(Filters.conjuncts(filter.condition()), names(scan)));
        return estimated == null ? null : new Filter(filter.condition(), estimated);
      }
      PlannedFiles alone = files(node);
      return alone == null || alone.isEstimated() ? null : estimated((LogicalRelation) node, new LinkedHashMap());
    }

    private static PlannedFiles files(Object node) {
      if (!(node instanceof LogicalRelation)) {
        return null;
      }
      Object relation = ((LogicalRelation) node).relation();
      return relation instanceof CoalesceRelation ? ((CoalesceRelation) relation).files() : null;
    }

    private static LogicalPlan estimated(LogicalRelation scan, Map filters) {
      CoalesceRelation relation = (CoalesceRelation) scan.relation();
      if (relation.files().isEstimatedFor(filters)) {
        return null;
      }
      PlannedFiles files;
      try {
        files = relation.files().under(filters);
      } catch (RuntimeException failed) {
        return null; // if something is really wrong, the scan will say so
      }
      Object[] arguments = new Object[scan.productArity()];
      for (int i = 0; i < arguments.length; i++) {
        arguments[i] = scan.productElement(i);
      }
      arguments[0] =
          relation.copy(
              files,
              relation.partitionSchema(),
              relation.dataSchema(),
              relation.bucketSpec(),
              relation.fileFormat(),
              relation.options(),
              relation.sparkSession());
      LogicalRelation estimated = (LogicalRelation) scan.makeCopy(arguments);
      estimated.statsCache_$eq(Option.apply(statistics((CoalesceRelation) arguments[0], scan.stats())));
      return estimated;
    }

    /** Bytes and rows; `known`, of the whole table, has what ANALYZE TABLE may have found of the columns. */
    private static Statistics statistics(CoalesceRelation relation, Statistics known) {
      long rows = relation.files().rows();
      return new Statistics(
          BigInt.apply(relation.sizeInBytes()),
          rows < 0 ? Option.empty() : Option.apply(BigInt.apply(rows)),
          known.attributeStats(),
          known.isRuntime());
    }

    /** What the table calls each attribute: the query may have written it in another case. */
    private static Map names(LogicalRelation scan) {
      HashMap names = new HashMap();
      List output = CollectionConverters.asJava(scan.output());
      for (int i = 0; i < output.size(); i++) {
        AttributeReference attribute = (AttributeReference) output.get(i);
        names.put(attribute.exprId(), attribute.name());
      }
      return names;
    }
  }
}
