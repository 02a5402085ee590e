package coalesce.spark;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/** Spark's Parquet, but for filters by which its reader would skip row groups that hold matching rows: see `Pushed`. */
public class ExactParquet extends ParquetFileFormat {
  private final PlannedFiles files;
  private final boolean counted; // whether rows are counted as they are read, so that none may be left out

  ExactParquet(PlannedFiles files, boolean counted) {
    this.files = files;
    this.counted = counted;
  }

  /** The same format for a scan of other files, or one whose rows are counted. */
  ExactParquet over(PlannedFiles files, boolean counted) {
    return new ExactParquet(files, counted);
  }

  boolean counted() {
    return counted;
  }

  public Function1 buildReaderWithPartitionValues(
      SparkSession session,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      Seq filters,
      Map options,
      Configuration configuration) {
    return Readers.of(
        reading(session, requiredSchema),
        stored(dataSchema),
        partitionSchema,
        stored(requiredSchema),
        counted ? (Seq) scala.collection.immutable.Nil$.MODULE$ : pushed(filters),
        asWritten(options),
        configuration);
  }

  /**
   * Dates and times are what the files say. A session that takes files for those of Spark 2, and shifts old dates, would
   * show others than the table has, and would not know the rows that were removed by theirs. Where the table lies is nothing
   * to a reader of files.
   */
  private static Map asWritten(Map options) {
    return (Map)
        ((Map) ((Map) options.updated("datetimeRebaseMode", "CORRECTED")).updated("int96RebaseMode", "CORRECTED"))
            .removed("path");
  }

  /** The session whose settings a scan of these columns is read with. */
  SparkSession reading(SparkSession session, StructType asked) {
    return session;
  }

  /** Columns as the files have them. */
  StructType stored(StructType asked) {
    return asked;
  }

  /** What a column is called in the files; null if it is not the table's. */
  String stored(String column) {
    return column;
  }

  /** The filters that are safe to skip row groups by. Spark checks all of them in the rows. */
  private Seq pushed(Seq filters) {
    return new StoredNames(this).in(new Pushed(files).exact(filters));
  }
}
