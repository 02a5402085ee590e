package coalesce.spark;

import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.SchemaRelationProvider;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.sources.StreamSourceProvider;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What `format("coalesce")` and `USING coalesce` mean. */
public class NativeSource
    implements RelationProvider,
        SchemaRelationProvider,
        CreatableRelationProvider,
        StreamSourceProvider,
        StreamSinkProvider,
        DataSourceRegister {

  private static final String CREATES = "org.apache.spark.sql.execution.command.CreateDataSourceTableCommand";
  private static final String CREATES_AS_SELECT =
      "org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand";

  private static final String ANALYSES = "org.apache.spark.sql.catalyst.analysis.Analyzer";

  /** The newest versions this thread has looked up for the query it is analysing: see `newest`. */
  private static final ThreadLocal SEEN = new ThreadLocal();

  /** Spark makes one of each source, in whichever session, when it looks for a source of some name. */
  public NativeSource() {
    Session.prepareActive();
  }

  public String shortName() {
    return "coalesce";
  }

  /** What stands in Spark's own messages. */
  public String toString() {
    return "coalesce";
  }

  public boolean supportsDataType(DataType type) {
    return true; // the table's schema decides, with an error that says what to do
  }

  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map options) {
    return ChangedRows.areAsked(options)
        ? (BaseRelation) ChangedRows.of(context.sparkSession(), options)
        : resolve(context.sparkSession(), options, null);
  }

  /** The table has a schema of its own, so a given one counts only where CREATE TABLE is to make a table. */
  public BaseRelation createRelation(
      SQLContext context, scala.collection.immutable.Map options, StructType schema) {
    if (!options.contains(CreateTables.CREATE) && Callers.include(CREATES)) {
      throw Session.unprepared("CREATE TABLE would make no table");
    }
    if (ChangedRows.areAsked(options)) {
      throw new IllegalArgumentException("the changes of a table have its columns; leave the schema out.");
    }
    return resolve(context.sparkSession(), options, schema);
  }

  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset data) {
    if (!options.contains(CreateTables.CREATE) && Callers.include(CREATES_AS_SELECT)) {
      throw Session.unprepared("CREATE TABLE AS SELECT, or saveAsTable, would lose what it was told of the table");
    }
    Map question = Bridge.question("save");
    question.put("table", location(options));
    question.put("mode", mode.name());
    question.put("options", new HashMap(CollectionConverters.asJava(options)));
    question.put("catalog", Boolean.valueOf(fromCatalog()));
    Bridge.ask(question, data);
    return new WrittenTable(context, data.schema());
  }

  public Tuple2 sourceSchema(
      SQLContext context, Option schema, String provider, scala.collection.immutable.Map options) {
    return new Tuple2("coalesce", TableStream.load(context.sparkSession(), options, schema).schema());
  }

  public Source createSource(
      SQLContext context,
      String metadataPath,
      Option schema,
      String provider,
      scala.collection.immutable.Map options) {
    return TableStream.start(context.sparkSession(), options);
  }

  public Sink createSink(
      SQLContext context, scala.collection.immutable.Map options, Seq partitionColumns, OutputMode mode) {
    return TableSink.of(context.sparkSession(), options, partitionColumns, mode);
  }

  /** The relation that reads one version of the table: the one the options name, or the newest. */
  static CoalesceRelation resolve(
      SparkSession session, scala.collection.immutable.Map options, StructType schema) {
    String table = location(options);
    Map newest = newest();
    Object[] seen = (Object[]) newest.get(table);
    boolean catalog = fromCatalog();
    if (seen != null && seen[2] != null && catalog && options.size() == 1) { // that is the path: nothing else is asked
      return relation((Map) seen[2], options, session);
    }
    Map question = Bridge.question("resolve");
    question.put("table", table);
    question.put("options", new HashMap(CollectionConverters.asJava(options)));
    question.put("catalog", Boolean.valueOf(catalog));
    if (schema != null) {
      question.put("schema", schema.json());
    }
    if (seen != null) {
      question.put("newest", seen[0]);
      question.put("found", seen[1]);
    }
    Map answer = Bridge.read(Bridge.ask(question, session));
    if (Boolean.TRUE.equals(answer.get("follows"))) {
      newest.put(table, new Object[] {answer.get("version"), answer.get("key"), null});
    }
    return relation(answer, options, session);
  }

  private static CoalesceRelation relation(
      Map answer, scala.collection.immutable.Map options, SparkSession session) {
    Session.prepare(session);
    return CoalesceRelation.of(answer, options, session);
  }

  /**
   * A catalog has looked up a table, for a query, and found this version to be the newest: the query reads that one. Python
   * need not look once more and, if it has described the version for reading already, is not even asked.
   */
  static void saw(String table, Object newest, Object key, Object described) {
    if (newest != null && Callers.include(ANALYSES)) {
      newest().put(location(table), new Object[] {newest, key, described});
    }
  }

  /** The numbers of the versions that this query has looked up by now, by table: whatever names one of these reads it. */
  static Map seen() {
    HashMap numbers = new HashMap();
    if (Callers.include(ANALYSES)) {
      Iterator tables = newest().entrySet().iterator();
      while (tables.hasNext()) {
        Map.Entry table = (Map.Entry) tables.next();
        numbers.put(table.getKey(), Arrays.asList((Object[]) table.getValue()).subList(0, 2));
      }
    }
    return numbers;
  }

  /**
   * Versions, with their keys, by table, for as long as one query is being analysed: a table that a query names twice is
   * read at one version, whatever is committed between the two look-ups. Spark gives each analysis a fresh relation
   * cache, which serves as the sign of it.
   */
  private static Map newest() {
    Object analysis = AnalysisContext.get().relationCache();
    Object[] seen = (Object[]) SEEN.get();
    if (seen == null || ((WeakReference) seen[0]).get() != analysis) {
      seen = new Object[] {new WeakReference(analysis), new HashMap()};
      SEEN.set(seen);
    }
    return (Map) seen[1];
  }

  /**
   * Whether the catalog asks, and not a reader or writer that was given a path. It hands over, as options and schema, what
   * it stored when the table was created; nothing else tells the two apart.
   */
  static boolean fromCatalog() {
    return Callers.include("org.apache.spark.sql.execution.datasources.FindDataSourceTable")
        || Callers.include("org.apache.spark.sql.execution.command.CreateDataSourceTable");
  }

  /** The table's location as Python's storage takes it: a plain path on this machine, else a URI, both literal. */
  static String location(scala.collection.immutable.Map options) {
    Option given = options.get("path");
    if (given.isEmpty()) {
      Map question = Bridge.question("location");
      question.put("options", new HashMap(CollectionConverters.asJava(options)));
      return Bridge.ask(question, null);
    }
    return location((String) given.get());
  }

  static String location(String text) {
    java.net.URI uri = new Path(text).toUri();
    return "file".equals(uri.getScheme()) ? uri.getPath() : text;
  }
}
