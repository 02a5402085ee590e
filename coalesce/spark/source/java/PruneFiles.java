package coalesce.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.BigInt;
import scala.runtime.AbstractPartialFunction;

/**
 * Tells the optimizer what a scan under its filters will leave, so that small results are broadcast, and explain() can
 * say it. It also keeps, for `listFiles`, filters that Spark would not show there: see `PlannedFiles.under`. And where
 * some files lack columns that others hold, it makes one scan for each kind: see `PlannedFiles.parts`.
 *
 * <p>No answer is wrong without it: a scan then prunes by what `listFiles` is given, and one of several parts fails.
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
      if (node instanceof Project && isMixed(scanUnder(((Project) node).child()))) {
        Project project = (Project) node;
        return new Project(project.projectList(), split(project.child(), project.references()));
      }
      if (isMixed(scanUnder(node))) {
        return split((LogicalPlan) node, null);
      }
      if (node instanceof Filter && files(((Filter) node).child()) != null) {
        Filter filter = (Filter) node;
        LogicalRelation scan = (LogicalRelation) filter.child();
        LogicalPlan estimated = estimated(scan, Filters.bySql(Filters.conjuncts(filter.condition()), names(scan)));
        return estimated == null ? null : new Filter(filter.condition(), estimated);
      }
      PlannedFiles alone = files(node);
      return alone == null || alone.isEstimated() ? null : estimated((LogicalRelation) node, new LinkedHashMap());
    }

    // --- parts ---

    /** The scan of a coalesce table that the node is, or filters; else null. */
    private static LogicalRelation scanUnder(Object node) {
      Object scan = node instanceof Filter ? ((Filter) node).child() : node;
      return files(scan) == null ? null : (LogicalRelation) scan;
    }

    private static boolean isMixed(LogicalRelation scan) {
      return scan != null && parts(scan) != null;
    }

    private static List parts(LogicalRelation scan) {
      return files(scan).parts(scan.relation().schema());
    }

    /**
     * A scan, with the filter above it if there is one, as the union of scans of its parts. `asked` are the columns
     * that are wanted of it, null for all: what is not asked for above a union would be read below it.
     */
    private static LogicalPlan split(LogicalPlan plan, AttributeSet asked) {
      LogicalRelation scan = scanUnder(plan);
      List parts = parts(scan);
      ArrayList children = new ArrayList();
      for (int i = 0; i < parts.size(); i++) {
        // The first keeps the attributes that the rest of the query knows; a union passes those of its first child on.
        LogicalRelation own = i == 0 ? scan : scan.newInstance();
        Renumbered renumbered = new Renumbered(scan.output(), own.output());
        LogicalPlan child = withRelation(own, ((CoalesceRelation) scan.relation()).over((PlannedFiles) parts.get(i)));
        if (plan instanceof Filter) {
          child = new Filter((Expression) ((Filter) plan).condition().transform(renumbered), child);
        }
        children.add(asked == null ? child : new Project(columns(scan, own, asked), child));
      }
      return new Union(CollectionConverters.asScala(children).toSeq(), false, false);
    }

    private static Seq columns(LogicalRelation scan, LogicalRelation own, AttributeSet asked) {
      ArrayList columns = new ArrayList();
      for (int i = 0; i < scan.output().size(); i++) {
        if (asked.contains((NamedExpression) scan.output().apply(i))) {
          columns.add(own.output().apply(i));
        }
      }
      return CollectionConverters.asScala(columns).toSeq();
    }

    private static LogicalRelation withRelation(LogicalRelation scan, CoalesceRelation relation) {
      Object[] members = new Object[scan.productArity()];
      for (int i = 0; i < members.length; i++) {
        members[i] = i == 0 ? relation : scan.productElement(i);
      }
      return (LogicalRelation) scan.makeCopy(members);
    }

    // --- estimates ---

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
        // What a scan gives besides the table's columns is `_metadata`.
        files = relation.files().under(filters, scan.output().size() > relation.schema().length());
      } catch (RuntimeException failed) {
        return null; // if something is really wrong, the scan will say so
      }
      CoalesceRelation selected = relation.over(files);
      LogicalRelation estimated = withRelation(scan, selected);
      estimated.statsCache_$eq(Option.apply(statistics(selected, scan.stats())));
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

  /** Attributes of one scan as those of another scan of the same columns. */
  private static final class Renumbered extends AbstractPartialFunction {
    private final HashMap others = new HashMap();

    Renumbered(Seq from, Seq to) {
      for (int i = 0; i < from.size(); i++) {
        others.put(((AttributeReference) from.apply(i)).exprId(), to.apply(i));
      }
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference && others.containsKey(((AttributeReference) node).exprId());
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node) ? others.get(((AttributeReference) node).exprId()) : otherwise.apply(node);
    }
  }
}
