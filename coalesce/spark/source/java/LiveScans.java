package coalesce.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.FileSourceOptions;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FileSourceConstantMetadataAttribute$;
import org.apache.spark.sql.catalyst.expressions.FileSourceMetadataAttribute$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Plans scans of files whose dead rows are told by their places, without asking for the number of each row: Spark's reader
 * makes an object for each, which takes longer than to read a column. The rows are counted instead, by `LiveRows`.
 *
 * <p>Only where they can be: where Spark reads in batches and whole files, or fails, and nothing is known by which its
 * reader might leave rows out. Everything else is planned as if this were not here.
 */
public class LiveScans extends SparkStrategy {
  private static final int MOST_COLUMNS = 100; // as many as Spark compiles, unless it is told otherwise

  public Seq apply(LogicalPlan plan) {
    ArrayList planned = new ArrayList();
    if (hasPlaces(plan)) {
      Iterator ways = CollectionConverters.asJava(FileSourceStrategy$.MODULE$.apply(plan)).iterator();
      while (ways.hasNext()) {
        planned.add(((SparkPlan) ways.next()).transformUp(new Counted()));
      }
    }
    return seq(planned);
  }

  /** Whether it is a scan, with what Spark takes together with it, whose dead rows are told by their places. */
  private static boolean hasPlaces(LogicalPlan plan) {
    LogicalPlan scan = plan;
    while (scan instanceof Project || scan instanceof Filter) {
      scan = (LogicalPlan) scan.children().apply(0);
    }
    return scan instanceof LogicalRelation && places(((LogicalRelation) scan).relation()) != null;
  }

  /**
   * Whether the rows of a scan can be counted, as far as the optimizer can tell, if this condition is asked of them, or
   * null, and these columns are, or null for all. If it proves wrong, they are told by their numbers.
   */
  static boolean canCount(LogicalRelation scan, Expression condition, AttributeSet asked) {
    CoalesceRelation relation = (CoalesceRelation) scan.relation();
    StructType constants = relation.files().partitionSchema();
    StructType read = new StructType();
    HashSet known = new HashSet();
    for (int i = 0; i < scan.output().size(); i++) {
      AttributeReference attribute = (AttributeReference) scan.output().apply(i);
      if (!FileSourceMetadataAttribute$.MODULE$.unapply(attribute).isEmpty()) {
        return false; // it may be the numbers of rows that are asked for
      }
      if (constants.getFieldIndex(attribute.name()).isDefined()) {
        known.add(attribute.exprId());
      } else if (asked == null || asked.contains(attribute) || (condition != null && asks(condition, attribute))) {
        read = read.add(attribute.name(), attribute.dataType(), true);
      }
    }
    ArrayList filters = new ArrayList();
    List conjuncts = condition == null ? new ArrayList() : Filters.conjuncts(condition);
    for (int i = 0; i < conjuncts.size(); i++) {
      Iterator columns = CollectionConverters.asJava(((Expression) conjuncts.get(i)).references()).iterator();
      boolean ofRows = false;
      while (columns.hasNext()) {
        ofRows |= !known.contains(((AttributeReference) columns.next()).exprId());
      }
      if (ofRows) {
        filters.add(conjuncts.get(i));
      }
    }
    return read.length() + constants.length() + 1 <= MOST_COLUMNS
        && relation.fileFormat().supportBatch(relation.sparkSession(), read)
        && !mayLeaveOut(relation, filters);
  }

  private static boolean asks(Expression condition, AttributeReference attribute) {
    return condition.references().contains(attribute);
  }

  /** Whether the reader might leave rows out: for filters it is given, or files that cannot be read. */
  private static boolean mayLeaveOut(HadoopFsRelation relation, List filters) {
    if (passesOver(relation)) {
      return true;
    }
    for (int i = 0; i < filters.size(); i++) {
      Option pushed = DataSourceStrategy$.MODULE$.translateFilter((Expression) filters.get(i), true);
      // That a value is not NULL is asked for any join, and hardly ever leaves anything out.
      if (pushed.isDefined() && !(pushed.get() instanceof IsNotNull)) {
        return true;
      }
    }
    return false;
  }

  /** Whether files that cannot be read, or are not there, are left out without a word, as options or settings say. */
  static boolean passesOver(HadoopFsRelation relation) {
    FileSourceOptions options = new FileSourceOptions(relation.options());
    return options.ignoreCorruptFiles() || options.ignoreMissingFiles();
  }

  private static DeadPlaces places(Object relation) {
    PlannedFiles files = relation instanceof CoalesceRelation ? ((CoalesceRelation) relation).files() : null;
    return files != null && files.dead() instanceof DeadPlaces ? (DeadPlaces) files.dead() : null;
  }

  private static Seq seq(List list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  /** The filter that leaves dead rows out, and the scan below it, as a scan whose rows are counted. */
  private static final class Counted extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return counted(node) != null;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      Object counted = counted(node);
      return counted == null ? otherwise.apply(node) : counted;
    }

    private static SparkPlan counted(Object node) {
      if (!(node instanceof FilterExec) || !(((FilterExec) node).child() instanceof FileSourceScanExec)) {
        return null;
      }
      FileSourceScanExec scan = (FileSourceScanExec) ((FilterExec) node).child();
      DeadPlaces dead = places(scan.relation());
      int row = dead == null ? -1 : place(scan, DeadRows.ROW_INDEX);
      if (row < 0 || !scan.supportsColumnar() || scan.output().size() > MOST_COLUMNS) {
        return null;
      }
      if (mayLeaveOut(scan.relation(), others(CollectionConverters.asJava(scan.dataFilters()), scan, row))) {
        return null;
      }
      ArrayList others = others(Filters.conjuncts(((FilterExec) node).condition()), scan, row);
      int all = Filters.conjuncts(((FilterExec) node).condition()).size();
      if (others.size() != all - 1) {
        return null; // the numbers of rows are asked for elsewhere, too
      }
      FileSourceScanExec whole = whole(scan, row);
      SparkPlan live = new LiveRows(whole, dead, place(whole, dead.number()));
      Expression rest = Filters.all(others, new ArrayList());
      return rest == null ? live : new FilterExec(rest, live);
    }

    /** Those of some conditions that do not ask for the number of the row. */
    private static ArrayList others(List conditions, FileSourceScanExec scan, int row) {
      ArrayList others = new ArrayList();
      Iterator each = conditions.iterator();
      while (each.hasNext()) {
        Expression condition = (Expression) each.next();
        if (!condition.references().contains((NamedExpression) scan.output().apply(row))) {
          others.add(condition);
        }
      }
      return others;
    }

    private static int place(FileSourceScanExec scan, String name) {
      for (int i = 0; i < scan.output().size(); i++) {
        AttributeReference attribute = (AttributeReference) scan.output().apply(i);
        if (attribute.name().equals(name) && FileSourceConstantMetadataAttribute$.MODULE$.unapply(attribute).isEmpty()) {
          return i;
        }
      }
      return -1;
    }

    /** The scan without numbers of rows and without filters of the reader. */
    private static FileSourceScanExec whole(FileSourceScanExec scan, int row) {
      ArrayList output = new ArrayList(CollectionConverters.asJava(scan.output()));
      output.remove(row);
      StructType required = new StructType();
      for (int i = 0; i < scan.requiredSchema().length(); i++) {
        if (!scan.requiredSchema().apply(i).name().equals(DeadRows.ROW_INDEX)) {
          required = required.add(scan.requiredSchema().apply(i));
        }
      }
      HashMap changes = new HashMap();
      changes.put("relation", ((CoalesceRelation) scan.relation()).counted());
      changes.put("output", seq(output));
      changes.put("requiredSchema", required);
      changes.put("dataFilters", seq(others(CollectionConverters.asJava(scan.dataFilters()), scan, row)));
      return (FileSourceScanExec) Copies.changed(scan, changes);
    }
  }
}
