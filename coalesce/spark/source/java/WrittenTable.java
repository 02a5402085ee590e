package coalesce.spark;

import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.StructType;

/**
 * What a write hands back to Spark: a schema and nothing to read.
 *
 * <p>Not a CoalesceRelation on purpose. After saveAsTable Spark would "repair" the catalog of a file relation by walking
 * its directories.
 */
public class WrittenTable extends BaseRelation {
  private final SQLContext context;
  private final StructType schema;

  WrittenTable(SQLContext context, StructType schema) {
    this.context = context;
    this.schema = schema;
  }

  public SQLContext sqlContext() {
    return context;
  }

  public StructType schema() {
    return schema;
  }
}
