package coalesce.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.streaming.OutputMode;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A table that a stream is written to. Each micro-batch is one commit, which carries the query's id and the batch's
 * number: a batch that Spark gives again is not written again.
 */
public class TableSink implements Sink {
  private static final String QUERY = "sql.streaming.queryId"; // where Spark puts it for the thread of a batch

  private final scala.collection.immutable.Map options;
  private final Seq partitionColumns;
  private final boolean complete;

  private TableSink(scala.collection.immutable.Map options, Seq partitionColumns, boolean complete) {
    this.options = options;
    this.partitionColumns = partitionColumns;
    this.complete = complete;
  }

  static TableSink of(
      SparkSession session, scala.collection.immutable.Map options, Seq partitionColumns, OutputMode mode) {
    boolean complete = mode.equals(OutputMode.Complete());
    if (!complete && !mode.equals(OutputMode.Append())) {
      throw new IllegalArgumentException(
          "a stream is written to a coalesce table in the mode append or complete, not " + mode.toString().toLowerCase()
              + ": with foreachBatch, merge the rows into it.");
    }
    TableSink sink = new TableSink(options, partitionColumns, complete);
    Bridge.ask(sink.question("stream sink"), session); // what cannot be meant is said before the query starts
    return sink;
  }

  public void addBatch(long number, Dataset data) {
    org.apache.spark.sql.classic.SparkSession session =
        (org.apache.spark.sql.classic.SparkSession) data.sparkSession();
    Map question = question("stream batch");
    question.put("batch", Long.valueOf(number));
    question.put("query", session.sparkContext().getLocalProperty(QUERY));
    // The plan is that of one micro-batch, and not for other operators: they go on from its rows.
    RDD rows = ((org.apache.spark.sql.classic.Dataset) data).queryExecution().toRdd();
    Bridge.ask(question, session.internalCreateDataFrame(rows, data.schema(), false));
  }

  private Map question(String call) {
    ArrayList columns = new ArrayList(CollectionConverters.asJava(partitionColumns));
    Map question = Bridge.question(call);
    question.put("table", NativeSource.location(options));
    question.put("options", new HashMap(CollectionConverters.asJava(options)));
    question.put("complete", Boolean.valueOf(complete));
    question.put("partitionBy", columns);
    return question;
  }

  public String toString() {
    return "coalesce[" + NativeSource.location(options) + "]";
  }
}
