package coalesce.spark;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.PartitionEvaluatorFactory;
import org.apache.spark.SparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprValue;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.CodegenSupport;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.util.SerializableConfiguration;
import scala.Tuple2;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;
import scala.util.Either;
import scala.util.Right;

/**
 * The rows of a scan but for the dead ones, which are told by their places: rows are counted as they come.
 *
 * <p>That holds because the reader leaves out none and keeps their order: it is Spark's, and has no filters (see
 * `LiveScans`). Each batch brings along, as a constant column, which file it is of. When a file or a piece of one begins,
 * Spark has just said which, to whoever asks for `input_file_name()`; where in the file that is, the footer tells. When it
 * ends, as many rows must have come as it has. A query whose rows do not add up fails.
 *
 * <p>It stands for the operator below it, by which Spark takes batches apart: in each it goes from one run of live rows to
 * the next, and looks at no other. It is no such operator to Spark, which may leave those out. Executors have no class of
 * ours. They are sent text, as of every operator whose code Spark generates, and compile it.
 */
public final class LiveRows extends SparkPlan implements CodegenSupport {
  private final SparkPlan child;
  private final DeadPlaces dead;
  private final int number; // where in the output of the child stands what the file is known by
  private CodegenSupport parent;

  public LiveRows(SparkPlan child, DeadPlaces dead, int number) {
    this.child = child;
    this.dead = dead;
    this.number = number;
  }

  // --- a plan ---

  public Seq output() {
    return child.output();
  }

  public Seq children() {
    ArrayList children = new ArrayList();
    children.add(child);
    return CollectionConverters.asScala(children).toSeq();
  }

  public TreeNode withNewChildrenInternal(IndexedSeq children) {
    return new LiveRows((SparkPlan) children.apply(0), dead, number);
  }

  public int productArity() {
    return 3;
  }

  public Object productElement(int place) {
    Object[] members = {child, dead, Integer.valueOf(number)};
    return members[place];
  }

  public boolean canEqual(Object other) {
    return other instanceof LiveRows;
  }

  public boolean equals(Object other) {
    if (!(other instanceof LiveRows)) {
      return false;
    }
    LiveRows that = (LiveRows) other;
    return dead == that.dead && number == that.number && child.equals(that.child);
  }

  public int hashCode() {
    return 31 * child.hashCode() + number;
  }

  public String argString(int most) {
    return dead.description();
  }

  /**
   * Some operators are sent to executors with all that is below them, though only their own members are looked at there.
   * This class is unknown there: what is sent in its place has its columns.
   */
  protected Object writeReplace() {
    Object[] first = {output(), scala.collection.immutable.Nil$.MODULE$, scala.Option.empty()};
    return Copies.made(LocalTableScanExec.class, first);
  }

  // --- its code ---

  public CodegenSupport parent() {
    return parent;
  }

  public void parent_$eq(CodegenSupport parent) {
    this.parent = parent;
  }

  public boolean needCopyResult() {
    return false;
  }

  public Seq inputRDDs() {
    return batches().inputRDDs();
  }

  /**
   * What Spark runs if it does not compile this operator together with others: it had too many columns for that, or its
   * code became too long. By itself it is compiled nevertheless.
   */
  public RDD doExecute() {
    WholeStageCodegenExec alone = new WholeStageCodegenExec(this, 0);
    Tuple2 made = alone.doCodeGen();
    Constructor constructor = WholeStageCodegenEvaluatorFactory.class.getConstructors()[0];
    boolean broadcasts = constructor.getParameterTypes()[0] == Either.class; // long code, in newer releases
    Object[] members = {
      broadcasts ? new Right(made._2()) : made._2(),
      alone.longMetric("pipelineTime"),
      CollectionConverters.asJava(((CodegenContext) made._1()).references()).toArray()
    };
    try {
      return ((RDD) inputRDDs().apply(0))
          .mapPartitionsWithEvaluator(
              (PartitionEvaluatorFactory) constructor.newInstance(members), ClassTag$.MODULE$.apply(InternalRow.class));
    } catch (ReflectiveOperationException broken) {
      throw new IllegalStateException("this version of Spark runs code in an unknown way: " + constructor, broken);
    }
  }

  /** What takes apart the batches of a scan; of one whose reader leaves out no rows, or they could not be counted. */
  private ColumnarToRowExec batches() {
    SparkPlan plan = child;
    while (plan instanceof InputAdapter || plan instanceof WholeStageCodegenExec) {
      plan = (SparkPlan) plan.children().apply(0);
    }
    SparkPlan scan = plan instanceof ColumnarToRowExec ? ((ColumnarToRowExec) plan).child() : plan;
    if (scan instanceof InputAdapter) {
      scan = ((InputAdapter) scan).child();
    }
    boolean counted =
        plan instanceof ColumnarToRowExec
            && scan instanceof FileSourceScanExec
            && ((FileSourceScanExec) scan).relation().fileFormat() instanceof ExactParquet
            && ((ExactParquet) ((FileSourceScanExec) scan).relation().fileFormat()).counted();
    if (!counted) {
      throw new IllegalStateException(
          "rows of a coalesce table were removed, and " + scan.nodeName() + ", which is not Spark's own reader, has been"
              + " put in the place of it: purge() the table, or read it without what does so.");
    }
    return (ColumnarToRowExec) plan;
  }

  public String doProduce(CodegenContext context) {
    ColumnarToRowExec batches = batches();
    Seq classes = (Seq) batches.child().vectorTypes().get();
    StringBuilder assigned = new StringBuilder();
    ArrayList columns = new ArrayList();
    String row = context.freshName("row");
    for (int i = 0; i < output().size(); i++) {
      Attribute attribute = (Attribute) output().apply(i);
      String column = field(context, (String) classes.apply(i), "column", "");
      assigned.append(column + " = (" + classes.apply(i) + ") batch.column(" + i + ");\n");
      columns.add(value(context, attribute.dataType(), column, row));
    }
    LiveRuns runs = new LiveRuns(context, dead, number, assigned.toString(), configuration(batches));
    context.currentVars_$eq(null);
    String local = context.freshName("local");
    String left = context.freshName("left");
    String stop = parent.needStopCheck() ? "if (shouldStop()) { " + runs.row + " = " + row + " + 1; return; }\n" : "";
    return "while (" + limitNotReachedCond() + " (" + runs.row + " < " + runs.until + " || " + runs.advance + "())) {\n"
        + "int " + left + " = " + runs.until + " - " + runs.row + ";\n"
        + "for (int " + local + " = 0; " + local + " < " + left + "; " + local + "++) {\n"
        + "int " + row + " = " + runs.row + " + " + local + ";\n"
        + consume(context, CollectionConverters.asScala(columns).toSeq(), null)
        + "\n" + stop + "}\n"
        + runs.row + " = " + runs.until + ";\n"
        + "}\n";
  }

  static String field(CodegenContext context, String type, String name, String value) {
    return context.addMutableState(type, name, new Initially(value), false, true);
  }

  private static final class Initially extends AbstractFunction1 {
    private final String value;

    Initially(String value) {
      this.value = value;
    }

    public Object apply(Object variable) {
      return value.isEmpty() ? "" : variable + " = " + value + ";";
    }
  }

  /** What is in a row of a column, and whether it is NULL. */
  private static ExprCode value(CodegenContext context, DataType type, String column, String row) {
    ExprValue missing = JavaCode.isNullVariable(context.freshName("isNull"));
    ExprValue value = JavaCode.variable(context.freshName("value"), type);
    CodeGenerator$ java = CodeGenerator$.MODULE$;
    String[] parts = {
      "boolean ",
      " = " + column + ".isNullAt(" + row + ");\n" + java.javaType(type) + " ",
      " = ",
      " ? " + java.defaultValue(type, false) + " : (" + java.getValueFromVector(column, type, row) + ");\n"
    };
    ExprValue[] between = {missing, value, missing};
    Block code = new CodeBlock(seq(parts), seq(between));
    return new ExprCode(code, missing, value);
  }

  private static Seq seq(Object[] values) {
    return CollectionConverters.asScala(java.util.Arrays.asList(values)).toSeq();
  }

  /** The settings that footers are read with, as Spark's reader has them. */
  private Broadcast configuration(ColumnarToRowExec batches) {
    SparkPlan scan = batches.child() instanceof InputAdapter ? ((InputAdapter) batches.child()).child() : batches.child();
    scala.collection.immutable.Map options = ((FileSourceScanExec) scan).relation().options();
    return Shared.of(sparkContext(), session().sessionState().newHadoopConfWithOptions(options));
  }

  /** Settings that executors have already: to send them takes longer than to plan a query, and mostly nobody asks. */
  private static final class Shared {
    private static SparkContext context;
    private static HashMap settings;
    private static Broadcast sent;

    static synchronized Broadcast of(SparkContext now, Configuration configuration) {
      HashMap all = new HashMap();
      Iterator each = configuration.iterator();
      while (each.hasNext()) {
        Map.Entry one = (Map.Entry) each.next();
        all.put(one.getKey(), one.getValue());
      }
      if (now != context || !all.equals(settings)) {
        sent = SerializableConfiguration.broadcast(now, configuration);
        settings = all;
        context = now;
      }
      return sent;
    }
  }
}
