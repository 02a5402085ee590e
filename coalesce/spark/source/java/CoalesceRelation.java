package coalesce.spark;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One version of a table as Spark's own file relation, so that it is scanned by Spark's own Parquet reader.
 *
 * <p>Spark would write plain files into the directory of a file relation, and no version would name them. Three guards:
 * it is an InsertableRelation, which Spark asks first; `copy` keeps it one; and its index has two root paths, to which
 * Spark refuses to write.
 */
public class CoalesceRelation extends HadoopFsRelation implements InsertableRelation {
  private static final String COMPARES = "org.apache.spark.sql.execution.datasources.DataSourceUtils";

  private CoalesceRelation(
      FileIndex location,
      StructType partitionSchema,
      StructType dataSchema,
      Option bucketSpec,
      FileFormat fileFormat,
      scala.collection.immutable.Map options,
      SparkSession session) {
    super(location, partitionSchema, dataSchema, bucketSpec, fileFormat, options, session);
  }

  /** The relation that Python's answer to "resolve" describes. */
  static CoalesceRelation of(Map answer, scala.collection.immutable.Map options, SparkSession session) {
    // Nullable throughout, as Spark takes any files to be: it believes what it is told, and a file may lack a column.
    StructType schema = ((StructType) DataType.fromJson((String) answer.get("schema"))).asNullable();
    StructType constants = PlannedFiles.columns((List) answer.get("constants"), schema);
    PlannedFiles files = PlannedFiles.of(answer, constants);
    String stored = (String) answer.get("stored");
    FileFormat format =
        stored == null
            ? new ExactParquet(files, false)
            : new MappedParquet(schema, (StructType) DataType.fromJson(stored), files, false);
    return new CoalesceRelation(
        files,
        constants,
        schema,
        Option.empty(),
        format,
        options,
        session);
  }

  /** The same relation over other files: a selection of these, or the same with an estimate. */
  CoalesceRelation over(PlannedFiles files) {
    FileFormat format = ((ExactParquet) fileFormat()).over(files, false);
    return new CoalesceRelation(
        files, files.partitionSchema(), dataSchema(), bucketSpec(), format, options(), sparkSession());
  }

  /** The same relation with a further column: the number of each row in its file. */
  CoalesceRelation numbered() {
    StructType columns = dataSchema().add(DeadRows.ROW_INDEX, DataTypes.LongType, true);
    return new CoalesceRelation(
        location(), super.partitionSchema(), columns, bucketSpec(), fileFormat(), options(), sparkSession());
  }

  /** What `numbered` was made of, for a scan that counts the rows: its reader has no filters. */
  CoalesceRelation counted() {
    StructType columns = new StructType();
    for (int i = 0; i < dataSchema().length(); i++) {
      if (!dataSchema().apply(i).name().equals(DeadRows.ROW_INDEX)) {
        columns = columns.add(dataSchema().apply(i));
      }
    }
    FileFormat format = ((ExactParquet) fileFormat()).over(files(), true);
    return new CoalesceRelation(
        location(), super.partitionSchema(), columns, bucketSpec(), format, options(), sparkSession());
  }

  /** The index, unless someone has put another one in its place. */
  PlannedFiles files() {
    return location() instanceof PlannedFiles ? (PlannedFiles) location() : null;
  }

  /**
   * The constant columns; none, for the rule that prepares an INSERT.
   *
   * <p>To that rule a file relation with partition columns wants them last, and its rows written into directories. This
   * one takes rows as its schema has them, through `insert`.
   */
  public StructType partitionSchema() {
    return ((Boolean) StackWalker.getInstance().walk(PREPARES_INSERT)).booleanValue()
        ? new StructType()
        : super.partitionSchema();
  }

  private static final Function PREPARES_INSERT = new PreparesInsert();

  /** Whether the rule stands among the callers. */
  private static final class PreparesInsert implements Function {
    public Object apply(Object frames) {
      Iterator callers = ((Stream) frames).limit(8L).iterator();
      while (callers.hasNext()) {
        String caller = ((StackWalker.StackFrame) callers.next()).getClassName();
        if (caller.startsWith("org.apache.spark.sql.execution.datasources.PreprocessTableInsertion")) {
          return Boolean.TRUE;
        }
      }
      return Boolean.FALSE;
    }
  }

  public void insert(Dataset data, boolean overwrite) {
    Map question = Bridge.question("insert");
    question.put("table", files().table());
    question.put("overwrite", Boolean.valueOf(overwrite));
    question.put("options", new HashMap(CollectionConverters.asJava(options())));
    Bridge.ask(question, data);
  }

  /** A copy, which Spark makes for other options or fewer nested columns, is a CoalesceRelation too. */
  public HadoopFsRelation copy(
      FileIndex location,
      StructType partitionSchema,
      StructType dataSchema,
      Option bucketSpec,
      FileFormat fileFormat,
      scala.collection.immutable.Map options,
      SparkSession session) {
    return new CoalesceRelation(
        location, partitionSchema, dataSchema, bucketSpec, fileFormat, options, session);
  }

  /**
   * Never empty: it makes CREATE TABLE store no schema in the catalog but look it up each time. A stored one would be
   * out of date after the table's next evolution.
   */
  public scala.collection.immutable.Map overlappedPartCols() {
    HashMap overlapped = new HashMap();
    overlapped.put(schema().fields()[0].name(), schema().fields()[0]);
    return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(overlapped));
  }

  /**
   * What stands after "FileScan" in explain(), and after "Scan" in the SQL tab. Of each scan that it plans, Spark also asks
   * whether it is one of "parquet" or "orc", or what else a setting lists, to quote names in filters: to that it is
   * none, whatever the setting, so that names are always as they are (see `StoredNames`).
   */
  public String toString() {
    PlannedFiles files = files();
    return Callers.include(COMPARES) ? "" : files == null ? "coalesce" : "coalesce " + files.description();
  }
}
