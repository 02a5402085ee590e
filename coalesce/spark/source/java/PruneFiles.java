package coalesce.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FileSourceMetadataAttribute$;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.BigInt;
import scala.runtime.AbstractPartialFunction;

/**
 * Tells the optimizer what a scan under its filters will leave, so that small results are broadcast, and explain() can
 * say it. It also keeps, for `listFiles`, filters that Spark would not show there: see `PlannedFiles.under`. And where
 * some files lack columns that others hold, or hold rows that the table has no more, it makes one scan for each kind and
 * leaves those rows out: see `PlannedFiles.parts` and `DeadRows`.
 *
 * <p>No answer is wrong without it: a scan then prunes by what `listFiles` is given, and one of several parts fails.
 */
public class PruneFiles extends Rule {

  public TreeNode apply(TreeNode plan) {
    // Also in subqueries: one that Spark has made itself, for a runtime filter, has not been through the optimizer.
    return ((LogicalPlan) plan).transformDownWithSubqueries(new Scans());
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
        LogicalPlan estimated = estimated(scan, filters(filter, scan));
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
      return scan != null && files(scan).isMixed();
    }

    /** What a filter, or no filter, asks of the rows of a scan, but for what leaves out dead ones. */
    private static Map filters(LogicalPlan plan, LogicalRelation scan) {
      ArrayList asked = new ArrayList();
      if (plan instanceof Filter) {
        Object number = number(scan);
        Iterator conjuncts = Filters.conjuncts(((Filter) plan).condition()).iterator();
        while (conjuncts.hasNext()) {
          Expression conjunct = (Expression) conjuncts.next();
          if (number == null || !conjunct.references().contains((NamedExpression) number)) {
            asked.add(conjunct);
          }
        }
      }
      return Filters.bySql(asked, Filters.names(scan.output()));
    }

    /**
     * A scan, with the filter above it if there is one, as the union of scans of its parts. `asked` are the columns
     * that are wanted of it, null for all: what is not asked for above a union would be read below it.
     */
    private static LogicalPlan split(LogicalPlan plan, AttributeSet asked) {
      LogicalRelation scan = scanUnder(plan);
      List conjuncts = plan instanceof Filter ? Filters.conjuncts(((Filter) plan).condition()) : new ArrayList();
      List sure = Filters.sure(conjuncts);
      Expression whole = Filters.all(sure, conjuncts); // in this order: what the others could fail on may be dead
      boolean counted = LiveScans.canCount(scan, whole, asked);
      Map left = Filters.bySql(sure, Filters.names(scan.output()));
      List parts = files(scan).parts(scan.relation().schema(), filters(plan, scan), left, counted);
      ArrayList children = new ArrayList();
      for (int i = 0; i < parts.size(); i++) {
        // The first keeps the attributes that the rest of the query knows; a union passes those of its first child on.
        LogicalRelation own = i == 0 ? scan : scan.newInstance();
        PlannedFiles files = (PlannedFiles) parts.get(i);
        CoalesceRelation relation = ((CoalesceRelation) scan.relation()).over(files);
        Expression condition =
            whole == null ? null : (Expression) whole.transform(new Renumbered(scan.output(), own.output()));
        LogicalPlan child = files.dead() == null ? part(own, relation, condition) : alive(own, relation, condition);
        boolean all = asked == null && child.output().size() == own.output().size();
        children.add(all ? child : new Project(columns(scan, own, asked), child));
      }
      return children.size() == 1
          ? (LogicalPlan) children.get(0)
          : new Union(CollectionConverters.asScala(children).toSeq(), false, false);
    }

    private static LogicalPlan part(LogicalRelation scan, CoalesceRelation relation, Expression condition) {
      LogicalPlan part = with(scan, relation, scan.output());
      return condition == null ? part : new Filter(condition, part);
    }

    /**
     * A scan of files with dead rows, and the filter that leaves those out before another one can fail on them. It has
     * further columns: the number of the file and, if dead rows are told by their places, that of the row.
     */
    private static LogicalPlan alive(LogicalRelation scan, CoalesceRelation relation, Expression condition) {
      DeadRows dead = relation.files().dead();
      HashMap attributes = new HashMap();
      ArrayList output = new ArrayList(CollectionConverters.asJava(scan.output()));
      for (int i = 0; i < output.size(); i++) {
        attributes.put(((AttributeReference) output.get(i)).name(), output.get(i));
      }
      if (dead.placed()) {
        Expression row = rowIndex(output);
        if (row == null) {
          row = attribute(DeadRows.ROW_INDEX, DataTypes.LongType);
          output.add(row);
          relation = relation.numbered();
        }
        attributes.put(DeadRows.ROW_INDEX, row);
      }
      Expression number = attribute(dead.number(), dead.columns.apply(0).dataType());
      output.add(number);
      attributes.put(dead.number(), number);
      ArrayList telling = new ArrayList();
      String[] names = dead.names();
      for (int i = 0; i < names.length; i++) {
        telling.add(attributes.get(names[i]));
      }
      Expression lives = dead.condition(telling);
      LogicalPlan part = with(scan, relation, CollectionConverters.asScala(output).toSeq());
      return new Filter(condition == null ? lives : new And(lives, condition), part);
    }

    private static AttributeReference attribute(String name, DataType type) {
      return new AttributeReference(
          name,
          type,
          true,
          Metadata.empty(),
          NamedExpression$.MODULE$.newExprId(),
          (Seq) scala.collection.immutable.Nil$.MODULE$);
    }

    /** The number of the row, if the query asks for it itself, as a part of `_metadata`: Spark reads it only once. */
    private static Expression rowIndex(List output) {
      for (int i = 0; i < output.size(); i++) {
        AttributeReference attribute = (AttributeReference) output.get(i);
        if (!FileSourceMetadataAttribute$.MODULE$.unapply(attribute).isEmpty()) {
          Option place = ((StructType) attribute.dataType()).getFieldIndex("row_index");
          if (place.isDefined()) {
            return new GetStructField(attribute, ((Integer) place.get()).intValue(), Option.empty());
          }
        }
      }
      return null;
    }

    /** The attribute that has the number of the file; null if the files of the scan have no dead rows. */
    private static Object number(LogicalRelation scan) {
      DeadRows dead = files(scan).dead();
      if (dead != null) {
        for (int i = 0; i < scan.output().size(); i++) {
          if (((AttributeReference) scan.output().apply(i)).name().equals(dead.number())) {
            return scan.output().apply(i);
          }
        }
      }
      return null;
    }

    private static Seq columns(LogicalRelation scan, LogicalRelation own, AttributeSet asked) {
      ArrayList columns = new ArrayList();
      for (int i = 0; i < scan.output().size(); i++) {
        if (asked == null || asked.contains((NamedExpression) scan.output().apply(i))) {
          columns.add(own.output().apply(i));
        }
      }
      return CollectionConverters.asScala(columns).toSeq();
    }

    private static LogicalRelation with(LogicalRelation scan, CoalesceRelation relation, Seq output) {
      Object[] members = new Object[scan.productArity()];
      for (int i = 0; i < members.length; i++) {
        members[i] = i == 0 ? relation : i == 1 ? output : scan.productElement(i);
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
      LogicalRelation estimated = with(scan, selected, scan.output());
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
