package coalesce.spark;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Rows that Python answers with: it is given this object, and hands them over as a local Dataset. */
public final class Rows {
  private final SparkSession session = SparkSession.active();
  private StructType schema;
  private InternalRow[] rows;

  private Rows() {}

  static Rows answering(Map question) {
    Rows answer = new Rows();
    Bridge.ask(question, answer);
    return answer;
  }

  public SparkSession session() {
    return session;
  }

  public void take(Dataset data) {
    schema = data.schema();
    rows = ((org.apache.spark.sql.classic.Dataset) data).queryExecution().executedPlan().executeCollect();
  }

  StructType schema() {
    return schema;
  }

  InternalRow[] rows() {
    return rows;
  }
}
