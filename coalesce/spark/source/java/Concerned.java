package coalesce.spark;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What the condition of a statement says of single rows of its table.
 *
 * <p>Conditions on the table's columns alone are handed over as the filters of a scan are. Where a column is to be equal
 * to something that the source has, that is handed over, to be computed from the source.
 */
public final class Concerned {
  private final ArrayList filters = new ArrayList();
  private final ArrayList equal = new ArrayList();

  private Concerned() {}

  /** Of a frame that is a filter of the table's rows, or a join of them, on the left, with others. */
  public static Concerned of(Dataset frame) {
    Concerned found = new Concerned();
    LogicalPlan plan = (LogicalPlan) frame.queryExecution().analyzed();
    if (plan instanceof Filter) {
      found.take(((Filter) plan).condition(), ((Filter) plan).child().output());
    } else if (plan instanceof Join && ((Join) plan).condition().isDefined()) {
      found.take((Expression) ((Join) plan).condition().get(), ((Join) plan).left().output());
    }
    return found;
  }

  /** Zone, NUL and SQL of each condition on the table's columns. */
  public List filters() {
    return filters;
  }

  /** The names of columns, each with what it is to be equal to: a column of the source's rows, of the same type. */
  public List equal() {
    return equal;
  }

  private void take(Expression condition, Seq table) {
    Set own = new HashSet();
    for (int i = 0; i < table.size(); i++) {
      own.add(((AttributeReference) table.apply(i)).exprId());
    }
    ArrayList alone = new ArrayList();
    List conjuncts = Filters.conjuncts(condition);
    for (int i = 0; i < conjuncts.size(); i++) {
      Expression conjunct = (Expression) conjuncts.get(i);
      if (!conjunct.deterministic() || SubqueryExpression$.MODULE$.hasSubquery(conjunct)) {
        continue;
      }
      if (isOf(conjunct, own, true)) {
        alone.add(conjunct);
      } else if (conjunct instanceof EqualTo) {
        pair(((EqualTo) conjunct).left(), ((EqualTo) conjunct).right(), own);
        pair(((EqualTo) conjunct).right(), ((EqualTo) conjunct).left(), own);
      }
    }
    filters.addAll(Filters.bySql(alone, Filters.names(table)).keySet());
  }

  private void pair(Expression column, Expression value, Set own) {
    if (column instanceof AttributeReference
        && isOf(column, own, true)
        && isOf(value, own, false)
        && column.dataType().sameType(value.dataType())) {
      Column other = ExpressionUtils$.MODULE$.column(value);
      equal.add(new Object[] {((AttributeReference) column).name(), other});
    }
  }

  /** Whether all columns of an expression are among these, or none is. */
  private static boolean isOf(Expression expression, Set ids, boolean among) {
    java.util.Iterator references = CollectionConverters.asJava(expression.references().toSeq()).iterator();
    boolean some = false;
    while (references.hasNext()) {
      some = true;
      if (ids.contains(((AttributeReference) references.next()).exprId()) != among) {
        return false;
      }
    }
    return some || !among;
  }
}
