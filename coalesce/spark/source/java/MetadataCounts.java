package coalesce.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubExprUtils$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataTypes;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Puts a number in the place of `SELECT count(*)` where metadata knows it exactly: no file is opened, and no job runs.
 *
 * <p>It stands where filters have been pushed down and columns pruned, and before `PruneFiles`: a scan that has an
 * estimate was not answered, and is not asked about again. A query is as good without it, only slower.
 */
public class MetadataCounts extends Rule {

  public TreeNode apply(TreeNode plan) {
    // What a correlated subquery has to look like is Spark's to say, which makes a join of it.
    boolean correlated = plan instanceof Subquery && ((Subquery) plan).correlated();
    return correlated ? plan : ((LogicalPlan) plan).transformDownWithSubqueries(new Counts(plan instanceof Subquery));
  }

  private static final class Counts extends AbstractPartialFunction {
    private final boolean inSubquery;

    Counts(boolean inSubquery) {
      this.inSubquery = inSubquery;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof Aggregate && isCount((Aggregate) node);
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      Long rows = isDefinedAt(node) ? rows(((Aggregate) node).child()) : null;
      return rows == null ? otherwise.apply(node) : answer(((Aggregate) node).aggregateExpressions(), rows);
    }

    /**
     * The row of numbers. The driver has it at once if there is nothing to compute from them. That of a subquery is
     * written so that Spark puts the value itself in its place, by which scans may then be pruned.
     */
    private LogicalPlan answer(Seq named, Long rows) {
      ArrayList values = new ArrayList();
      ArrayList attributes = new ArrayList();
      boolean bare = !inSubquery;
      for (int i = 0; i < named.size(); i++) {
        Object one = named.apply(i);
        values.add(((Expression) one).transform(new Known(rows)));
        attributes.add(((NamedExpression) one).toAttribute());
        bare &= one instanceof Alias && ((Alias) one).child() instanceof AggregateExpression;
      }
      if (!bare) {
        return new Project(seq(values), new OneRowRelation());
      }
      Object[] row = new Object[values.size()];
      java.util.Arrays.fill(row, rows);
      ArrayList all = new ArrayList();
      all.add(RowFactory.create(row));
      return LocalRelation$.MODULE$.fromExternalRows(seq(attributes), seq(all));
    }
  }

  private static Seq seq(ArrayList list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  /** Counts of rows as their number. */
  private static final class Known extends AbstractPartialFunction {
    private final Long rows;

    Known(Long rows) {
      this.rows = rows;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AggregateExpression;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node) ? new Literal(rows, DataTypes.LongType) : otherwise.apply(node);
    }
  }

  /** Whether all rows together are asked for, by nothing but their number. */
  private static boolean isCount(Aggregate aggregate) {
    if (!aggregate.groupingExpressions().isEmpty() || !aggregate.references().isEmpty() || aggregate.isStreaming()) {
      return false;
    }
    int counts = 0;
    for (int i = 0; i < aggregate.aggregateExpressions().size(); i++) {
      int found = counts((Expression) aggregate.aggregateExpressions().apply(i));
      if (found < 0) {
        return false;
      }
      counts += found;
    }
    return counts > 0;
  }

  /** How many counts of rows there are in an expression; -1 if there is another aggregate. */
  private static int counts(Expression expression) {
    if (expression instanceof AggregateExpression) {
      return countsRows((AggregateExpression) expression) ? 1 : -1;
    }
    int counts = 0;
    Iterator children = CollectionConverters.asJava(expression.children()).iterator();
    while (children.hasNext()) {
      int found = counts((Expression) children.next());
      if (found < 0) {
        return -1;
      }
      counts += found;
    }
    return counts;
  }

  private static boolean countsRows(AggregateExpression aggregate) {
    if (!(aggregate.aggregateFunction() instanceof Count) || aggregate.isDistinct() || aggregate.filter().isDefined()) {
      return false;
    }
    Iterator counted = CollectionConverters.asJava(((Count) aggregate.aggregateFunction()).children()).iterator();
    while (counted.hasNext()) {
      Object one = counted.next();
      if (!(one instanceof Literal) || ((Literal) one).value() == null) {
        return false;
      }
    }
    return true;
  }

  /** How many rows a plan gives, if it does nothing but filter those of a coalesce table and metadata knows; else null. */
  private static Long rows(LogicalPlan plan) {
    ArrayList asked = new ArrayList();
    LogicalPlan below = plan;
    while (below instanceof Filter || isSelection(below)) {
      if (below instanceof Filter) {
        asked.addAll(Filters.conjuncts(((Filter) below).condition()));
      }
      below = (LogicalPlan) below.children().apply(0);
    }
    if (!(below instanceof LogicalRelation) || !(((LogicalRelation) below).relation() instanceof CoalesceRelation)) {
      return null;
    }
    LogicalRelation scan = (LogicalRelation) below;
    CoalesceRelation relation = (CoalesceRelation) scan.relation();
    PlannedFiles files = relation.files();
    // What a scan gives besides the table's columns is `_metadata`. And who passes over files wants to know what is left.
    boolean other = scan.output().size() > relation.schema().length() || LiveScans.passesOver(relation);
    if (files == null || files.isEstimated() || scan.isStreaming() || other) {
      return null;
    }
    try {
      Map filters = Filters.bySql(asked, Filters.names(scan.output()));
      return filters.size() < asked.size() || hasOuter(asked) ? null : files.count(filters);
    } catch (RuntimeException failed) {
      return null; // if something is really wrong, the scan will say so
    }
  }

  /** Whether it passes some of its child's columns on, and does nothing else. */
  private static boolean isSelection(LogicalPlan plan) {
    if (!(plan instanceof Project)) {
      return false;
    }
    Seq columns = ((Project) plan).projectList();
    boolean all = true;
    for (int i = 0; i < columns.size(); i++) {
      all &= columns.apply(i) instanceof Attribute;
    }
    return all;
  }

  private static boolean hasOuter(ArrayList conditions) {
    boolean has = false;
    for (int i = 0; i < conditions.size(); i++) {
      has |= SubExprUtils$.MODULE$.containsOuter((Expression) conditions.get(i));
    }
    return has;
  }
}
