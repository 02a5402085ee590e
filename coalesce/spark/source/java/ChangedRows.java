package coalesce.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.PrunedScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** The rows that versions of a table added, removed and updated. Which versions, is known from the beginning. */
public class ChangedRows extends BaseRelation implements PrunedScan {
  private final SparkSession session;
  private final Map question; // who is asked for the rows: the table, its options, the versions
  private final StructType schema;
  private Dataset rows;

  private ChangedRows(SparkSession session, Map question, StructType schema) {
    this.session = session;
    this.question = question;
    this.schema = schema;
  }

  /** Whether the options ask for changes. */
  static boolean areAsked(scala.collection.immutable.Map options) {
    Object wanted = new org.apache.spark.sql.util.CaseInsensitiveStringMap(CollectionConverters.asJava(options))
        .getOrDefault("readChanges", "false");
    return !"false".equalsIgnoreCase(((String) wanted).trim()); // what it says instead, Python judges
  }

  static ChangedRows of(SparkSession session, scala.collection.immutable.Map options) {
    Map question = Bridge.question("changes");
    question.put("table", NativeSource.location(options));
    question.put("options", new HashMap(CollectionConverters.asJava(options)));
    Map answer = Bridge.read(Bridge.ask(question, session));
    return between(session, question, answer);
  }

  /** Those of the versions that an answer names; or, if it says so, all rows of the last one. */
  static ChangedRows between(SparkSession session, Map asked, Map answer) {
    Map question = Bridge.question("changed rows");
    question.put("table", asked.get("table"));
    question.put("first", answer.get("first"));
    question.put("last", answer.get("last"));
    question.put("everything", answer.get("everything"));
    return new ChangedRows(session, question, (StructType) DataType.fromJson((String) answer.get("schema")));
  }

  public SQLContext sqlContext() {
    return session.sqlContext();
  }

  public StructType schema() {
    return schema;
  }

  /** Rows come as Spark has them. */
  public boolean needConversion() {
    return false;
  }

  public SparkSession session() {
    return session;
  }

  /** What Python has made of the question. */
  public void take(Dataset frame) {
    rows = frame;
  }

  public synchronized RDD buildScan(String[] columns) {
    Bridge.ask(question, this);
    Column[] wanted = new Column[columns.length];
    for (int i = 0; i < columns.length; i++) {
      wanted[i] = rows.col("`" + columns[i].replace("`", "``") + "`");
    }
    Dataset chosen = (Dataset) rows.select(CollectionConverters.asScala(java.util.Arrays.asList(wanted)).toSeq());
    rows = null;
    return chosen.queryExecution().toRdd();
  }

  public String toString() {
    return "coalesce changes of " + question.get("table");
  }
}
