package coalesce.spark;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.internal.SessionState;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Takes transforms out of PARTITIONED BY (days(ts), bucket(16, id)) where a coalesce table is created.
 *
 * <p>Spark's parser knows them, but for a source of this kind its analyzer refuses the one and turns the other into
 * buckets. They go into a property, from which `CreateTables` takes them. PARTITIONED BY with nothing but columns is
 * left as it is. Where a later Spark does not let us in, it refuses transforms in its own words.
 */
final class Parser implements InvocationHandler {
  /** The property that says what a table is partitioned by, as JSON. */
  static final String PARTITIONED_BY = "coalesce.partitioned-by";

  /** CLUSTERED BY (id) INTO 16 BUCKETS is parsed to the same plan as PARTITIONED BY (bucket(16, id)); it is refused. */
  private static final Pattern BUCKETS = Pattern.compile("\\bCLUSTERED\\s+BY\\b", Pattern.CASE_INSENSITIVE);

  private final Object parser;

  private Parser(Object parser) {
    this.parser = parser;
  }

  /** Put one in front of a session's parser, once. */
  static synchronized void install(SparkSession session) {
    SessionState state = ((org.apache.spark.sql.classic.SparkSession) session).sessionState();
    try {
      if (!Proxy.isProxyClass(state.sqlParser().getClass())) {
        Field field = SessionState.class.getDeclaredField("sqlParser");
        field.setAccessible(true);
        field.set(state, over(state.sqlParser()));
      }
    } catch (ReflectiveOperationException changed) {
      return;
    } catch (RuntimeException forbidden) {
      return;
    }
  }

  static Object over(Object parser) {
    Class[] kind = new Class[] {ParserInterface.class};
    return Proxy.newProxyInstance(ParserInterface.class.getClassLoader(), kind, new Parser(parser));
  }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    try {
      Object parsed = method.invoke(parser, arguments);
      boolean statement = arguments != null && arguments.length > 0 && arguments[0] instanceof String;
      return statement && !BUCKETS.matcher((String) arguments[0]).find() ? without(parsed) : parsed;
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  private static Object without(Object plan) {
    if (plan instanceof MergeIntoTable) {
      return unprivileged((MergeIntoTable) plan);
    }
    if (plan instanceof ExplainCommand) {
      return inside((Product) plan, "logicalPlan", ((ExplainCommand) plan).logicalPlan());
    }
    if (plan instanceof UnresolvedWith) {
      return inside((Product) plan, "child", ((UnresolvedWith) plan).child());
    }
    if (plan instanceof CreateTable) {
      CreateTable command = (CreateTable) plan;
      return without((Product) plan, command.partitioning(), command.tableSpec());
    }
    if (plan instanceof CreateTableAsSelect) {
      CreateTableAsSelect command = (CreateTableAsSelect) plan;
      return without((Product) plan, command.partitioning(), command.tableSpec());
    }
    return plan;
  }

  private static Object inside(Product plan, String member, Object child) {
    Object changed = without(child);
    if (changed == child) {
      return plan;
    }
    HashMap changes = new HashMap();
    changes.put(member, changed);
    return Copies.changed(plan, changes);
  }

  /** A MERGE whose table is resolved as one that is read: an INSERT's table is another thing, see `Warehouse`. */
  private static Object unprivileged(MergeIntoTable merge) {
    HashMap changes = new HashMap();
    Object target = merge.targetTable();
    boolean named = target instanceof SubqueryAlias;
    Object relation = named ? ((SubqueryAlias) target).child() : target;
    if (!(relation instanceof UnresolvedRelation)) {
      return merge;
    }
    Object cleared = ((UnresolvedRelation) relation).clearWritePrivileges();
    if (named) {
      changes.put("child", cleared);
      cleared = Copies.changed((Product) target, changes);
      changes.clear();
    }
    changes.put("targetTable", cleared);
    return Copies.changed((Product) merge, changes);
  }

  private static Object without(Product command, Seq partitioning, Object spec) {
    if (!(spec instanceof UnresolvedTableSpec)) {
      return command;
    }
    UnresolvedTableSpec table = (UnresolvedTableSpec) spec;
    boolean ours = table.provider().isDefined() && "coalesce".equalsIgnoreCase((String) table.provider().get());
    List transforms = CollectionConverters.asJava(partitioning);
    ArrayList texts = new ArrayList();
    boolean plain = true;
    for (int i = 0; ours && i < transforms.size(); i++) {
      Transform transform = (Transform) transforms.get(i);
      String text = text(transform);
      if (text == null) {
        return command; // CLUSTERED BY and CLUSTER BY, which are refused, stand here too
      }
      plain = plain && transform.name().equals("identity");
      texts.add(text);
    }
    if (!ours || plain) {
      return command;
    }
    HashMap changes = new HashMap();
    changes.put("properties", table.properties().updated(PARTITIONED_BY, Bridge.write(texts)));
    Object described = Copies.changed((Product) table, changes);
    changes.clear();
    changes.put("tableSpec", described);
    changes.put("partitioning", (Seq) scala.collection.immutable.Nil$.MODULE$);
    return Copies.changed(command, changes);
  }

  /** Transforms as a table's spec has them; refused if it could not have one of them. */
  static List texts(Transform[] transforms, String table) {
    ArrayList texts = new ArrayList();
    for (int i = 0; i < transforms.length; i++) {
      String text = text(transforms[i]);
      if (text == null) {
        throw TableCommands.refused(transforms[i].describe(), table, CreateTables.BUCKETS);
      }
      texts.add(text);
    }
    return texts;
  }

  /** A transform as a table's spec has it, such as day(ts); null if it is none that a table could have. */
  private static String text(Transform transform) {
    StringBuilder text = new StringBuilder();
    Expression[] arguments = transform.arguments();
    String name = transform.name();
    if (name.equals("cluster_by") || name.equals("sorted_bucket")) {
      return null;
    }
    for (int i = 0; i < arguments.length; i++) {
      text.append(text.length() == 0 ? "" : ", ");
      if (arguments[i] instanceof NamedReference) {
        String[] names = ((NamedReference) arguments[i]).fieldNames();
        if (names.length > 1) {
          return null;
        }
        text.append(names[0]);
      } else if (arguments[i] instanceof Literal) {
        text.append(((Literal) arguments[i]).value());
      } else {
        return null;
      }
    }
    if (name.equals("years") || name.equals("months") || name.equals("days") || name.equals("hours")) {
      name = name.substring(0, name.length() - 1);
    }
    return name.equals("identity") ? text.toString() : name + "(" + text + ")";
  }
}
