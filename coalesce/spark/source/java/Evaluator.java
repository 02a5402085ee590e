package coalesce.spark;

import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;

/**
 * Conditions that only Catalyst understands, evaluated by Catalyst, here in the driver.
 *
 * <p>Python knows which values the partition columns have; `lower(app) = 'x'` or `date_format(dt, 'yyyy-MM') = …` over
 * those values decides which files may match. The expression is the query's own, analysed and typed.
 */
public final class Evaluator {
  private static final Object AMBIGUOUS = new Object();

  private final Map filters; // as `Filters.bySql` makes them
  private final SQLConf settings = SQLConf.get(); // the query's; the question may come on another thread
  private Map conditions; // SQL text -> boolean expression, or AMBIGUOUS; filled at the first question

  Evaluator(Map filters) {
    this.filters = filters;
  }

  /**
   * For each row 'T', 'F', 'N' for NULL or '?' if evaluating it fails (Spark will say so, if it comes to that row).
   *
   * <p>`columns` are the names of a row's values and `rows` the rows, each ended by NUL. Empty if the condition is none
   * of the query's, or one that must not be evaluated here.
   */
  public synchronized String evaluate(String sql, String columns, String rows) {
    return (String) SQLConf.withExistingConf(settings, new Evaluation(this, sql, columns, rows));
  }

  private static final class Evaluation extends AbstractFunction0 {
    private final Evaluator evaluator;
    private final String sql;
    private final String columns;
    private final String rows;

    Evaluation(Evaluator evaluator, String sql, String columns, String rows) {
      this.evaluator = evaluator;
      this.sql = sql;
      this.columns = columns;
      this.rows = rows;
    }

    public Object apply() {
      Object condition = evaluator.conditions().get(stripped(sql));
      return condition instanceof Expression ? outcomes((Expression) condition, columns, rows) : "";
    }
  }

  /**
   * The same for the condition of a frame that is but a filter, in the settings of its session: what a removal asks of the
   * tuples there are. Empty if it must not be evaluated here.
   */
  public static String judge(Dataset frame, String columns, String rows) {
    SQLConf settings = ((SparkSession) frame.sparkSession()).sessionState().conf();
    return (String) SQLConf.withExistingConf(settings, new Judgement(frame, columns, rows));
  }

  private static final class Judgement extends AbstractFunction0 {
    private final Dataset frame;
    private final String columns;
    private final String rows;

    Judgement(Dataset frame, String columns, String rows) {
      this.frame = frame;
      this.columns = columns;
      this.rows = rows;
    }

    public Object apply() {
      // Some functions are but names for others, which the optimizer would put in their place.
      Object plan = ReplaceExpressions$.MODULE$.apply((LogicalPlan) frame.queryExecution().analyzed());
      if (!(plan instanceof Filter)) {
        return "";
      }
      Filter filter = (Filter) plan;
      Map found =
          Filters.bySql(Collections.singletonList(filter.condition()), Filters.names(filter.child().output()));
      Expression condition = found.isEmpty() ? null : (Expression) found.values().iterator().next();
      return condition == null || callsUser(condition) ? "" : outcomes(condition, columns, rows);
    }
  }

  private static boolean callsUser(Expression expression) {
    boolean calls = expression instanceof UserDefinedExpression;
    Iterator children = CollectionConverters.asJava(expression.children()).iterator();
    while (!calls && children.hasNext()) {
      calls = callsUser((Expression) children.next());
    }
    return calls;
  }

  private static String outcomes(Expression condition, String columns, String rows) {
    StructType types = types(condition, columns);
    if (types == null) {
      return "";
    }
    Expression bound = Filters.bound(condition, types);
    StringBuilder outcomes = new StringBuilder();
    int start = 0;
    while (start < rows.length()) {
      int end = rows.indexOf(0, start);
      outcomes.append(outcome(bound, rows.substring(start, end), types));
      start = end + 1;
    }
    return outcomes.toString();
  }

  private static char outcome(Expression bound, String row, StructType types) {
    try {
      Object value = bound.eval(Values.row(row, types));
      return value == null ? 'N' : ((Boolean) value).booleanValue() ? 'T' : 'F';
    } catch (Throwable error) {
      if (error instanceof VirtualMachineError) {
        throw (VirtualMachineError) error;
      }
      return '?';
    }
  }

  /** The named columns, as the condition has them; null if it reads another one. */
  private static StructType types(Expression condition, String columns) {
    HashMap known = new HashMap();
    Iterator references = CollectionConverters.asJava(condition.references().toSeq()).iterator();
    while (references.hasNext()) {
      AttributeReference reference = (AttributeReference) references.next();
      known.put(reference.name(), reference.dataType());
    }
    StructType types = new StructType();
    int start = 0;
    while (start < columns.length()) {
      int end = columns.indexOf(0, start);
      DataType type = (DataType) known.remove(columns.substring(start, end));
      if (type == null) {
        return null;
      }
      types = types.add(columns.substring(start, end), type);
      start = end + 1;
    }
    return known.isEmpty() ? types : null;
  }

  private Map conditions() {
    if (conditions == null) {
      conditions = new HashMap();
      Iterator each = filters.entrySet().iterator();
      while (each.hasNext()) {
        Map.Entry filter = (Map.Entry) each.next();
        String key = (String) filter.getKey();
        String zone = key.substring(0, key.indexOf(Filters.END));
        SQLConf.withExistingConf(Filters.inZone(zone), new Collection(this, (Expression) filter.getValue()));
      }
    }
    return conditions;
  }

  /** In the zone that the filter's text is written in. */
  private static final class Collection extends AbstractFunction0 {
    private final Evaluator evaluator;
    private final Expression filter;

    Collection(Evaluator evaluator, Expression filter) {
      this.evaluator = evaluator;
      this.filter = filter;
    }

    public Object apply() {
      evaluator.collect(filter);
      return null;
    }
  }

  /**
   * The conditions inside an expression; whether it calls a user's function, which may need what only executors have, or
   * cost what only executors should pay.
   *
   * <p>Two conditions may differ in what their texts do not say, such as the time zone of `hour(ts)` or what a CAST does
   * that fails. Neither is evaluated then. AND and OR are taken apart by whoever asks: the texts of a chain of a thousand
   * would be a thousand long texts.
   */
  private boolean collect(Expression expression) {
    boolean callsUser = expression instanceof UserDefinedExpression;
    Iterator children = CollectionConverters.asJava(expression.children()).iterator();
    while (children.hasNext()) {
      callsUser |= collect((Expression) children.next());
    }
    boolean chain = expression instanceof And || expression instanceof Or;
    if (!chain && !callsUser && expression.dataType() instanceof BooleanType && expression.deterministic()) {
      String text = stripped(Filters.text(expression));
      Object other = conditions.put(text, expression);
      if (other != null && (other == AMBIGUOUS || !Filters.alike((Expression) other, expression))) {
        conditions.put(text, AMBIGUOUS);
      }
    }
    return callsUser;
  }

  /** The text without parentheses around all of it. */
  static String stripped(String sql) {
    String text = sql.trim();
    while (text.startsWith("(") && closes(text) == text.length() - 1) {
      text = text.substring(1, text.length() - 1).trim();
    }
    return text;
  }

  /** Where the first parenthesis is closed. */
  private static int closes(String text) {
    int depth = 0;
    char quote = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (quote != 0) {
        if (c == '\\' && quote != '`') {
          i++;
        } else if (c == quote) {
          quote = 0;
        }
      } else if (c == '\'' || c == '"' || c == '`') {
        quote = c;
      } else if (c == '(') {
        depth++;
      } else if (c == ')' && --depth == 0) {
        return i;
      }
    }
    return -1;
  }
}
