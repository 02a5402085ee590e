package coalesce.spark;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.catalyst.expressions.BinaryArithmetic;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedPredicate;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractPartialFunction;

/** What a query asks of a scan's rows, as Catalyst has it, made ready for Python or applied here. */
final class Filters {
  private Filters() {}

  /** The conditions that must all hold. */
  static List conjuncts(Expression condition) {
    ArrayList found = new ArrayList();
    ArrayList todo = new ArrayList();
    todo.add(condition);
    while (!todo.isEmpty()) {
      Expression next = (Expression) todo.remove(todo.size() - 1);
      if (next instanceof And) {
        todo.add(((And) next).right());
        todo.add(((And) next).left());
      } else {
        found.add(next);
      }
    }
    return found;
  }

  /**
   * Those that fail on no row, whatever is in it: a reader may be given them. But for IS NOT NULL, which Spark asks where
   * it likes, unless another of them is about the column: with that, or before it.
   */
  static List sure(List conditions) {
    ArrayList found = new ArrayList();
    ArrayList notNull = new ArrayList();
    AttributeSet columns = AttributeSet$.MODULE$.empty();
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      Option pushed = DataSourceStrategy$.MODULE$.translateFilter(condition, true);
      if (pushed.isDefined() && pushed.get() instanceof IsNotNull) {
        notNull.add(condition);
      } else if (pushed.isDefined()) {
        found.add(condition);
        columns = columns.$plus$plus(condition.references());
      }
    }
    for (int i = 0; i < notNull.size(); i++) {
      if (((Expression) notNull.get(i)).references().subsetOf(columns)) {
        found.add(notNull.get(i));
      }
    }
    return found;
  }

  /** Some conditions, and behind them those of `others` that are not among them, as one; null if there are none. */
  static Expression all(List conditions, List others) {
    LinkedHashSet each = new LinkedHashSet(conditions);
    each.addAll(others);
    Expression all = null;
    for (Iterator one = each.iterator(); one.hasNext(); ) {
      Expression condition = (Expression) one.next();
      all = all == null ? condition : new And(all, condition);
    }
    return all;
  }

  /**
   * Zone, NUL, SQL text → expression, attributes by their bare names; one more NUL behind a text that only Spark can
   * understand. `names` says what the table calls an attribute
   * (by its id) where the query may have written it differently; null where Spark has seen to that.
   *
   * <p>The text means the same whatever the session's time zone is by the time it is read: its timestamps are written
   * in the zone that the filter's parts have had since the query was analysed, and that zone goes with it. What needs a
   * subquery's result, is not deterministic or has parts in several zones is left out: Spark checks it in the rows.
   */
  static Map bySql(Seq filters, Map names) {
    return bySql(CollectionConverters.asJava(filters), names);
  }

  static Map bySql(List filters, Map names) {
    LinkedHashMap found = new LinkedHashMap();
    for (int i = 0; i < filters.size(); i++) {
      Expression filter = (Expression) filters.get(i);
      String zone = zone(filter, null);
      if (filter.deterministic() && !hasPlan(filter) && !SEVERAL.equals(zone)) {
        zone = zone == null ? "UTC" : zone;
        try {
          Expression bare = (Expression) filter.transform(new Bare(names));
          String text = zone + END + SQLConf.withExistingConf(inZone(zone), new Sql(bare));
          found.put(isForeign(bare) ? text + END : text, bare);
        } catch (RuntimeException inexpressible) {
          continue; // not every expression has SQL; the files are kept
        }
      }
    }
    return found;
  }

  /** What the table calls each attribute, by its id: the query may have written it in another case. */
  static Map names(Seq output) {
    HashMap names = new HashMap();
    for (int i = 0; i < output.size(); i++) {
      AttributeReference attribute = (AttributeReference) output.apply(i);
      names.put(attribute.exprId(), attribute.name());
    }
    return names;
  }

  static final char END = (char) 0;
  private static final String SEVERAL = ""; // no zone has this name

  /** The time zone of all that needs one, SEVERAL, or what was `known` if nothing does. */
  private static String zone(Expression expression, String known) {
    if (needsZone(expression)) {
      Option named = ((TimeZoneAwareExpression) expression).timeZoneId();
      String own = named.isEmpty() ? SEVERAL : (String) named.get();
      known = known == null || known.equals(own) ? own : SEVERAL;
    }
    Iterator children = CollectionConverters.asJava(expression.children()).iterator();
    while (children.hasNext()) {
      known = zone((Expression) children.next(), known);
    }
    return known;
  }

  private static boolean needsZone(Expression expression) {
    if (expression instanceof Cast) {
      return ((Cast) expression).needsTimeZone();
    }
    return expression instanceof TimeZoneAwareExpression;
  }

  /**
   * Whether the text does not say all: a function of somebody's own may have the name of one of Spark's, and decimals may
   * be computed with other digits than they usually are.
   */
  private static boolean isForeign(Expression expression) {
    if (expression instanceof UserDefinedExpression || !expression.getClass().getName().startsWith(OWN)) {
      return true;
    }
    if (expression instanceof BinaryArithmetic && expression.dataType() instanceof DecimalType) {
      if (!((BinaryArithmetic) expression).evalContext().allowDecimalPrecisionLoss() || hasOtherDigits(expression)) {
        return true;
      }
    }
    Iterator children = CollectionConverters.asJava(expression.children()).iterator();
    while (children.hasNext()) {
      if (isForeign((Expression) children.next())) {
        return true;
      }
    }
    return false;
  }

  /** Whether there is a decimal literal of another type than its digits have, which its text does not say. */
  private static boolean hasOtherDigits(Expression expression) {
    if (expression instanceof Literal && expression.dataType() instanceof DecimalType) {
      Object value = ((Literal) expression).value();
      if (value == null) {
        return true;
      }
      BigDecimal digits = ((Decimal) value).toJavaBigDecimal();
      int scale = Math.max(digits.scale(), 0);
      int precision = Math.max(digits.precision() + Math.max(-digits.scale(), 0), scale);
      DecimalType type = (DecimalType) expression.dataType();
      return type.precision() != precision || type.scale() != scale;
    }
    Iterator children = CollectionConverters.asJava(expression.children()).iterator();
    while (children.hasNext()) {
      if (hasOtherDigits((Expression) children.next())) {
        return true;
      }
    }
    return false;
  }

  private static final String OWN = "org.apache.spark.sql.catalyst.expressions.";

  /** The session's settings as they are now, but for the time zone, in which Catalyst writes timestamps. */
  static SQLConf inZone(String zone) {
    SQLConf settings = SQLConf.get().clone();
    settings.setConfString("spark.sql.session.timeZone", zone);
    return settings;
  }

  private static final class Sql extends AbstractFunction0 {
    private final Expression expression;

    Sql(Expression expression) {
      this.expression = expression;
    }

    public Object apply() {
      return text(expression);
    }
  }

  /**
   * The expression as SQL. Catalyst leaves quotes out around every name that has the letters of one, but a column called
   * `null` is not NULL.
   */
  static String text(Expression expression) {
    return ((Expression) expression.transform(new Marked())).sql().replace(MARK + "`", "`");
  }

  private static final String MARK = "\001" + java.util.UUID.randomUUID(); // behind a name, it takes quotes
  private static final java.util.Set MISREAD =
      new java.util.HashSet(
          java.util.Arrays.asList(
              new String[] {
                "null", "true", "false", "all", "as", "distinct", "not", "interval", "fetch", "values"
              }));

  private static boolean hasPlan(Expression expression) {
    if (expression instanceof PlanExpression || expression instanceof DynamicPruning) {
      return true;
    }
    Iterator children = CollectionConverters.asJava(expression.children()).iterator();
    while (children.hasNext()) {
      if (hasPlan((Expression) children.next())) {
        return true;
      }
    }
    return false;
  }

  /** What `Expression.transform` does to columns; everything else stays. */
  private abstract static class OnColumns extends AbstractPartialFunction {
    abstract Expression replaced(AttributeReference attribute);

    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node) ? replaced((AttributeReference) node) : otherwise.apply(node);
    }
  }

  /** Attributes without their qualifiers: `app` for `spark_catalog.default.events.app`. */
  private static final class Bare extends OnColumns {
    private final Map names;

    Bare(Map names) {
      this.names = names;
    }

    Expression replaced(AttributeReference attribute) {
      if (names != null && names.containsKey(attribute.exprId())) {
        attribute = attribute.withName((String) names.get(attribute.exprId()));
      }
      return attribute.withQualifier((Seq) scala.collection.immutable.Nil$.MODULE$);
    }
  }

  /** Attributes whose names are read otherwise unless they are quoted get names that Catalyst quotes. */
  private static final class Marked extends OnColumns {
    Expression replaced(AttributeReference attribute) {
      boolean misread = MISREAD.contains(attribute.name().toLowerCase(java.util.Locale.ROOT));
      return misread ? attribute.withName(attribute.name() + MARK) : attribute;
    }
  }

  /** Whether two expressions are the same, of columns of the same names. */
  static boolean alike(Expression one, Expression other) {
    return one == other || one.transform(new Anonymous()).equals(other.transform(new Anonymous()));
  }

  /** Attributes by name and type alone. */
  private static final class Anonymous extends OnColumns {
    private static final ExprId ANY_ID = NamedExpression$.MODULE$.newExprId();

    Expression replaced(AttributeReference attribute) {
      return new AttributeReference(
          attribute.name(),
          attribute.dataType(),
          true,
          Metadata.empty(),
          ANY_ID,
          (Seq) scala.collection.immutable.Nil$.MODULE$);
    }
  }

  /** `filters` on rows of `columns`, exactly as Spark evaluates them; errors are Spark's, too. */
  static Exactly exactly(Seq filters, StructType columns) {
    InterpretedPredicate[] predicates = new InterpretedPredicate[filters.size()];
    for (int i = 0; i < predicates.length; i++) {
      predicates[i] = new InterpretedPredicate(bound((Expression) filters.apply(i), columns));
    }
    return new Exactly(predicates);
  }

  static final class Exactly {
    private final InterpretedPredicate[] predicates;

    Exactly(InterpretedPredicate[] predicates) {
      this.predicates = predicates;
    }

    boolean holds(InternalRow row) {
      for (int i = 0; i < predicates.length; i++) {
        if (!predicates[i].eval(row)) {
          return false;
        }
      }
      return true;
    }
  }

  /** The expression over a row of `columns`, found by name. */
  static Expression bound(Expression expression, StructType columns) {
    return (Expression) expression.transform(new Places(columns));
  }

  private static final class Places extends OnColumns {
    private final StructType columns;

    Places(StructType columns) {
      this.columns = columns;
    }

    Expression replaced(AttributeReference attribute) {
      return new BoundReference(columns.fieldIndex(attribute.name()), attribute.dataType(), true);
    }
  }
}
