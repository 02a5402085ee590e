package coalesce.spark;

import java.util.ArrayList;
import java.util.HashMap;
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
  private final ArrayList values = new ArrayList();

  private Concerned() {}

  /** Of a frame that is a filter of the table's rows, or a join of them, on the left, with others. */
  public static Concerned of(Dataset frame) {
    Concerned found = new Concerned();
    LogicalPlan plan = (LogicalPlan) frame.queryExecution().analyzed();
    if (plan instanceof Filter) {
      found.take(((Filter) plan).condition(), ((Filter) plan).child().output(), null);
    } else if (plan instanceof Join && ((Join) plan).condition().isDefined()) {
      Join join = (Join) plan;
      found.take((Expression) join.condition().get(), join.left().output(), join.right().output());
    }
    return found;
  }

  /**
   * As JSON, so that it crosses to Python in one call: `filters`, zone, NUL and SQL of each condition on the table's
   * columns; and `equal`, the names of columns, each with the place among the source's columns of the one that it is to be
   * equal to, of the same type, or -1 if that is computed from several, or none.
   */
  public String described() {
    HashMap described = new HashMap();
    described.put("filters", filters);
    described.put("equal", equal);
    return Bridge.write(described);
  }

  /** What a column is to be equal to, by its number in `equal`. */
  public Column value(int number) {
    return (Column) values.get(number);
  }

  private void take(Expression condition, Seq table, Seq source) {
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
        pair(((EqualTo) conjunct).left(), ((EqualTo) conjunct).right(), own, source);
        pair(((EqualTo) conjunct).right(), ((EqualTo) conjunct).left(), own, source);
      }
    }
    filters.addAll(Filters.bySql(alone, Filters.names(table)).keySet());
  }

  private void pair(Expression column, Expression value, Set own, Seq source) {
    if (column instanceof AttributeReference
        && isOf(column, own, true)
        && isOf(value, own, false)
        && column.dataType().sameType(value.dataType())) {
      equal.add(new Object[] {((AttributeReference) column).name(), Integer.valueOf(place(value, source))});
      values.add(ExpressionUtils$.MODULE$.column(value));
    }
  }

  /** Where a column stands among others; -1 if it is none of them, or something else. */
  private static int place(Expression value, Seq among) {
    for (int i = 0; value instanceof AttributeReference && among != null && i < among.size(); i++) {
      if (((AttributeReference) among.apply(i)).exprId().equals(((AttributeReference) value).exprId())) {
        return i;
      }
    }
    return -1;
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
