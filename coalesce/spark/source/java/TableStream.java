package coalesce.spark;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxFiles;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.streaming.Offset;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A table as a stream. Each micro-batch is a relation over the files that came in, so that it is read, and pruned, like
 * any query. Where a batch ends, Python says; a position is a text of Python's.
 */
public class TableStream implements Source, SupportsTriggerAvailableNow {
  private final SparkSession session;
  private final String table;
  private final scala.collection.immutable.Map options;
  private final Map begun; // Python's answer to "begin"
  private final StructType schema;
  private String last; // where a query that takes what is there now comes to its end, or null

  private TableStream(
      SparkSession session, scala.collection.immutable.Map options, Object columns, boolean catalog, String given) {
    this.session = session;
    this.table = NativeSource.location(options);
    this.options = options;
    Map question = question("begin");
    question.put("columns", columns);
    question.put("catalog", Boolean.valueOf(catalog));
    question.put("schema", given);
    this.begun = Bridge.read(Bridge.ask(question, session));
    this.schema =
        hasChanges()
            ? (StructType) DataType.fromJson((String) begun.get("schema"))
            : CoalesceRelation.of(begun, options, session).schema();
  }

  /** The stream that `load()` makes: Spark asks for its columns only, and says which ones it was given. */
  static TableStream load(SparkSession session, scala.collection.immutable.Map options, Option schema) {
    String given = schema.isEmpty() ? null : ((StructType) schema.get()).json();
    TableStream stream = new TableStream(session, options, null, NativeSource.fromCatalog(), given);
    Loaded.put(options, stream.begun.get("version"));
    return stream;
  }

  /** The stream that `start()` runs, with the columns that `load()` promised whatever became of the table since. */
  static TableStream start(SparkSession session, scala.collection.immutable.Map options) {
    Session.prepare(session);
    return new TableStream(session, options, Loaded.get(options), true, null); // `load` has looked at the options
  }

  public StructType schema() {
    return schema;
  }

  public ReadLimit getDefaultReadLimit() {
    return ReadLimit.maxFiles(((Number) begun.get("maxFiles")).intValue());
  }

  public void prepareForTriggerAvailableNow() {
    last = newest();
  }

  public org.apache.spark.sql.connector.read.streaming.Offset latestOffset(
      org.apache.spark.sql.connector.read.streaming.Offset start, ReadLimit limit) {
    Map question = question("advance");
    question.put("start", start == null ? null : start.json());
    question.put("last", last);
    if (limit instanceof ReadMaxFiles) {
      question.put("maxFiles", Integer.valueOf(((ReadMaxFiles) limit).maxFiles()));
    }
    return new Position(Bridge.ask(question, session));
  }

  public org.apache.spark.sql.connector.read.streaming.Offset reportLatestOffset() {
    return new Position(newest());
  }

  public Option getOffset() {
    throw new UnsupportedOperationException("latestOffset is to be asked");
  }

  public Dataset getBatch(Option start, Offset end) {
    Map question = question("batch");
    question.put("start", start.isEmpty() ? null : ((Offset) start.get()).json());
    question.put("end", end.json());
    question.put("columns", begun.get("version"));
    Map answer = Bridge.read(Bridge.ask(question, session));
    BaseRelation files =
        hasChanges()
            ? (BaseRelation) ChangedRows.between(session, question, answer)
            : CoalesceRelation.of(answer, options, session);
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) session, LogicalRelation$.MODULE$.apply(files, true));
  }

  private boolean hasChanges() {
    return Boolean.TRUE.equals(begun.get("changes"));
  }

  public void stop() {}

  public String toString() {
    return "coalesce[" + table + "]";
  }

  private String newest() {
    Map question = question("newest");
    return Bridge.ask(question, session);
  }

  private Map question(String call) {
    Map question = Bridge.question(call);
    question.put("table", table);
    question.put("options", new HashMap(CollectionConverters.asJava(options)));
    return question;
  }

  /** A version of the table, as Python writes it. */
  private static final class Position extends Offset {
    private final String text;

    Position(String text) {
      this.text = text;
    }

    public String json() {
      return text;
    }
  }

  /**
   * The version whose columns `load()` gave Spark, by the options: one and the same object when the query starts. Spark
   * takes columns by their place, and between the two they may have been put in another order.
   */
  private static final class Loaded {
    private static final LinkedList KNOWN = new LinkedList();

    static synchronized void put(Object options, Object version) {
      for (Iterator known = KNOWN.iterator(); known.hasNext(); ) {
        if (((WeakReference) ((Object[]) known.next())[0]).get() == null) {
          known.remove();
        }
      }
      KNOWN.add(new Object[] {new WeakReference(options), version});
    }

    static synchronized Object get(Object options) {
      for (Iterator known = KNOWN.iterator(); known.hasNext(); ) {
        Object[] one = (Object[]) known.next();
        if (((WeakReference) one[0]).get() == options) {
          return one[1];
        }
      }
      return null;
    }
  }
}
