package coalesce.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The files of one version of a table. Which of them a scan needs, the planner in Python says, for each scan anew.
 *
 * <p>Immutable: the version never changes, and what one query's filters leave out another query never misses. Columns
 * that are constant in every file (`dt`, where each file has one) are given to Spark as partition values, so that joins
 * prune by them; all other columns are in the files.
 */
public class PlannedFiles implements FileIndex {
  private static final scala.collection.immutable.Map NO_METADATA =
      scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(new java.util.HashMap()));
  private static final List NO_TUPLES = Arrays.asList(new String[] {"", ""});
  private static final long BLOCK = 128L * 1024 * 1024;
  private static final Map BEGUN = java.util.Collections.synchronizedMap(new Newest());
  private static final Map ESTIMATES = java.util.Collections.synchronizedMap(new Newest()); // see `estimate`
  private static final int SHORT = 16 * 1024; // letters, of an estimate that is kept and its filters

  private final Map table; // Python's answer to "resolve"
  private final StructType constants;
  private final Map filters; // what the query asks of every row of this scan, by `Filters.bySql`
  private final Map estimate; // Python's answer to "estimate", or null before the optimizer has asked
  private final Part part; // the part these files are, or null for all of them
  private volatile String described; // once somebody has asked
  private volatile Object[] counted; // the filters under which rows were counted last, and what the plan is kept by
  private final boolean dated; // whether the query may ask when files were written

  private PlannedFiles(
      Map table, StructType constants, Map filters, Map estimate, Part part, boolean dated) {
    this.table = table;
    this.constants = constants;
    this.filters = filters;
    this.estimate = estimate;
    this.part = part;
    this.dated = dated;
  }

  static PlannedFiles of(Map answer, StructType constants) {
    return new PlannedFiles(answer, constants, new LinkedHashMap(), null, null, false);
  }

  /** Whether the files have to be read in several ways, as some lack columns that others hold, or hold dead rows. */
  boolean isMixed() {
    return part == null && !((List) table.get("parts")).isEmpty();
  }

  /**
   * The parts to read, each in its own way, of what `filters` leave; at least one. `schema` are the table's columns. If
   * the filters that are `sure`, which fail on no row, leave out all dead ones, or rows can be `counted`, which `LiveScans`
   * knows, files that hold dead ones are not read apart from the others.
   */
  List parts(StructType schema, Map filters, Map sure, boolean counted) {
    Object scan = scan(filters);
    Map question = question("parts", filters);
    question.put("counted", Boolean.valueOf(counted));
    question.put("sure", new ArrayList(sure.keySet()));
    question.put("scan", scan);
    Map left = Bridge.read(Bridge.ask(question, new Evaluator(filters)));
    List described = (List) table.get("parts");
    ArrayList parts = new ArrayList();
    for (int i = 0; i < described.size(); i++) {
      Map one = (Map) described.get(i);
      List tuples = (List) left.get(one.get("part").toString());
      if (tuples != null || (i == described.size() - 1 && parts.isEmpty())) {
        Part part = Part.of(one, tuples == null ? NO_TUPLES : tuples, schema, filters, scan);
        parts.add(new PlannedFiles(table, part.constants, this.filters, null, part, dated));
      }
    }
    return parts;
  }

  /** How many rows `filters` leave, if metadata says it exactly; else null. Whoever reads them then has the same plan. */
  Long count(Map filters) {
    Object scan = java.util.UUID.randomUUID().toString();
    Map question = question("count", filters);
    question.put("scan", scan);
    String rows = Bridge.ask(question, new Evaluator(filters));
    counted = new Object[] {filters, scan};
    return rows.isEmpty() ? null : Long.valueOf(rows);
  }

  /** What the plan of a scan is kept by in Python: the same for equal filters, whose texts and expressions are equal. */
  private Object scan(Map filters) {
    Object[] before = counted;
    return before != null && before[0].equals(filters) ? before[1] : java.util.UUID.randomUUID().toString();
  }

  /** What is known of dead rows in these files; null if there are none. */
  DeadRows dead() {
    return part == null ? null : part.dead;
  }

  /** Some of the table's columns, by name. */
  static StructType columns(List names, StructType schema) {
    StructType found = new StructType();
    for (int i = 0; i < names.size(); i++) {
      found = found.add(schema.apply((String) names.get(i)));
    }
    return found;
  }

  String table() {
    return (String) table.get("table");
  }

  long version() {
    return ((Number) table.get("version")).longValue();
  }

  boolean isEstimated() {
    return estimate != null;
  }

  boolean isEstimatedFor(Map filters) {
    return estimate != null && this.filters.keySet().equals(withKnown(filters).keySet());
  }

  /**
   * Filters, and of a part those under which it is known what is dead in its files: whatever becomes of the plan until it
   * is run, no other files are read.
   */
  private Map withKnown(Map filters) {
    if (part == null) {
      return filters;
    }
    LinkedHashMap all = new LinkedHashMap(part.filters);
    all.putAll(filters);
    return all;
  }

  /**
   * The same files, for a scan under `filters`, with the size of what they leave.
   *
   * <p>Spark shows `listFiles` only the filters that speak of constant columns alone or of other columns alone. Kept
   * here, `(dt = … AND app = 'A') OR (dt = … AND app = 'B')` prunes too. `dated` says that the query has the column
   * `_metadata`.
   */
  PlannedFiles under(Map asked, boolean dated) {
    Map filters = withKnown(asked);
    if (filters.isEmpty() && part == null) {
      return new PlannedFiles(table, constants, filters, table, part, dated); // all of it, and that is known
    }
    boolean planned = part != null && part.filters.keySet().equals(filters.keySet());
    Map answer = estimate(filters, planned ? part.scan : scan(filters));
    return new PlannedFiles(table, constants, filters, answer, part, dated);
  }

  /**
   * Python's answer to "estimate". What it calls plain means the same in every session and for every scan, and neither a
   * version nor what such filters leave of it ever changes: of those, the newest are known here.
   */
  private Map estimate(Map filters, Object scan) {
    Map question = question("estimate", filters);
    Map known = (Map) ESTIMATES.get(estimateOf(filters));
    if (known == null) {
      question.put("scan", scan);
      String text = Bridge.ask(question, new Evaluator(filters));
      known = new ConcurrentHashMap(Bridge.read(text));
      known.put("scan", scan);
      if (Boolean.TRUE.equals(known.get("plain")) && text.length() + filters.keySet().toString().length() < SHORT) {
        ESTIMATES.put(estimateOf(filters), known);
      }
    }
    HashMap answer = new HashMap(known);
    answer.put("settings", question.get("settings"));
    return answer;
  }

  private List estimateOf(Map filters) {
    return Arrays.asList(new Object[] {table.get("key"), new HashSet(filters.keySet()), number()});
  }

  /** A table was dropped: whoever still asks for one of its versions is told by Python. */
  static void forget() {
    ESTIMATES.clear();
  }

  /**
   * Two on purpose. Spark refuses to INSERT into a relation with several, so an insert that slips past
   * CoalesceRelation fails instead of leaving files that no version names.
   */
  public Seq rootPaths() {
    ArrayList roots = new ArrayList();
    roots.add(new Path(root()));
    roots.add(new Path(root() + "/_coalesce"));
    return seq(roots);
  }

  /** Spark applies `partitionFilters` nowhere else, so of them the answer must be exact; the rest may keep too much. */
  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    // The one caller that asks before the rule has run wants values that are constant everywhere, and no rows.
    if (isMixed() && !Callers.include("org.apache.spark.sql.execution.OptimizeMetadataOnlyQuery")) {
      throw new IllegalStateException(
          "some files of the table at " + table() + " lack partition columns or hold rows that were removed, and the rule"
              + " that sees to that is not in this session's optimizer: call coalesce.attach(spark), and leave"
              + " coalesce.spark.PruneFiles out of spark.sql.optimizer.excludedRules.");
    }
    LinkedHashMap all = new LinkedHashMap(filters);
    all.putAll(Filters.bySql(partitionFilters, null));
    all.putAll(Filters.bySql(dataFilters, null));
    Listing listing = list(all);
    Filters.Exactly exactly = Filters.exactly(partitionFilters, constants);
    ArrayList directories = new ArrayList();
    for (int i = 0; i < listing.values.length; i++) {
      if (exactly.holds(listing.values[i])) {
        directories.add(new PartitionDirectory(listing.values[i], seq(listing.files[i])));
      }
    }
    return seq(directories);
  }

  public String[] inputFiles() {
    Listing listing = list(filters);
    ArrayList paths = new ArrayList();
    for (int i = 0; i < listing.files.length; i++) {
      for (int j = 0; j < listing.files[i].size(); j++) {
        paths.add(((FileStatusWithMetadata) listing.files[i].get(j)).getPath().toUri().toString());
      }
    }
    return (String[]) paths.toArray(new String[paths.size()]);
  }

  /** The floating-point columns that hold no NaN in these files. */
  public Set columnsWithoutNan() {
    Map question = question("floats", filters);
    if (estimate != null) {
      question.put("scan", estimate.get("scan"));
    }
    return new HashSet((List) Bridge.read(Bridge.ask(question, new Evaluator(filters))).get("withoutNan"));
  }

  /** A version never changes. */
  public void refresh() {}

  public long sizeInBytes() {
    return ((Number) (estimate == null ? table : estimate).get("bytes")).longValue();
  }

  /** Rows, of the whole version or of what the filters leave; -1 if that is not known. */
  long rows() {
    return ((Number) (estimate == null ? table : estimate).get("rows")).longValue();
  }

  public StructType partitionSchema() {
    return constants;
  }

  public Option metadataOpsTimeNs() {
    return Option.empty();
  }

  /** What a scan is called in explain(), which Python is asked for when somebody looks. */
  String description() {
    if (described == null) {
      String whole = (String) table.get("description");
      if (estimate == null || estimate == table) {
        return whole;
      }
      if (estimate.containsKey("description")) {
        return (String) estimate.get("description");
      }
      try {
        Map question = question("describe", filters);
        question.put("scan", estimate.get("scan"));
        described = (String) Bridge.read(Bridge.ask(question, new Evaluator(filters))).get("description");
        Map kept = (Map) ESTIMATES.get(estimateOf(filters));
        if (kept != null) {
          kept.put("description", described);
        }
      } catch (RuntimeException gone) {
        return whole; // it is no more than a name, and Spark shows it in error messages too
      }
    }
    return described;
  }

  /**
   * Two scans of one version are the same scan if the same is asked of their rows: Spark re-uses by equality, and takes
   * a rule that gives an equal plan for one that did nothing.
   */
  public boolean equals(Object other) {
    if (!(other instanceof PlannedFiles)) {
      return false;
    }
    PlannedFiles that = (PlannedFiles) other;
    return root().equals(that.root())
        && table.get("key").equals(that.table.get("key"))
        && java.util.Objects.equals(number(), that.number())
        && (part == null || isEstimated() == that.isEstimated()) // of all files, the size is known before
        && dated == that.dated
        && new HashSet(withKnown(filters).keySet()).equals(new HashSet(that.withKnown(that.filters).keySet()));
  }

  public int hashCode() {
    return table.get("key").hashCode();
  }

  private Object number() {
    return part == null ? null : part.number;
  }

  private String root() {
    return (String) table.get("root");
  }

  private static Seq seq(List list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  private Map question(String call, Map filters) {
    Map question = Bridge.question(call);
    question.put("settings", Integer.valueOf(SQLConf.get().getAllConfs().hashCode()));
    question.put("table", table());
    question.put("version", table.get("version"));
    question.put("key", table.get("key"));
    question.put("filters", new ArrayList(filters.keySet()));
    question.put("part", number());
    return question;
  }

  /** Constant values, and for each combination of them the files that have it. */
  private static final class Listing {
    InternalRow[] values;
    ArrayList[] files;
  }

  /** What was used last: the scans of tables whose files came with their estimates, and estimates. */
  private static final class Newest extends LinkedHashMap {
    Newest() {
      super(16, 0.75f, true);
    }

    protected boolean removeEldestEntry(Map.Entry eldest) {
      return size() > 1000;
    }
  }

  /** The newest scan that has begun of the table at a place, if its files came with its estimate; else null. */
  public static String begun(String place) {
    return (String) BEGUN.get(place);
  }

  /** The files under these filters, as Python lists them: few came with the estimate, if it is one for the same. */
  private String files(Map filters) {
    Map question = question("list", filters);
    if (estimate != null
        && estimate.containsKey("files")
        && question.get("settings").equals(estimate.get("settings"))
        && this.filters.keySet().equals(filters.keySet())) {
      BEGUN.put(table.get("place"), estimate.get("scan"));
      return (String) estimate.get("files");
    }
    if (estimate != null) {
      question.put("scan", estimate.get("scan")); // Python still has the plan it made for the optimizer
    }
    BEGUN.remove(table.get("place"));
    return Bridge.ask(question, new Evaluator(filters));
  }

  /**
   * What the planner keeps, as one string: the number of combinations, the combinations, then "combination bytes path"
   * for each file; all separated by NUL, which no path has in it.
   */
  private Listing list(Map asked) {
    Map filters = withKnown(asked);
    String answer = files(filters);
    String prefix = root() + "/";
    int start = answer.indexOf(0);
    int count = Integer.parseInt(answer.substring(0, start));
    Listing listing = new Listing();
    listing.values = new InternalRow[count];
    listing.files = new ArrayList[count];
    for (int i = 0; i < count; i++) {
      int end = answer.indexOf(0, start + 1);
      listing.values[i] = Values.row(answer.substring(start + 1, end), constants);
      if (dead() != null && !dead().covers(listing.values[i], constants.length() - 1)) {
        throw new IllegalStateException(
            "of a file of the table at " + table() + " it is not known which rows were removed: ask again.");
      }
      listing.files[i] = new ArrayList();
      start = end;
    }
    Modified modified = dated ? new Modified() : null;
    int length = answer.length();
    while (start + 1 < length) {
      int first = answer.indexOf(' ', start + 1);
      int second = answer.indexOf(' ', first + 1);
      int end = answer.indexOf(0, second + 1);
      int combination = Integer.parseInt(answer.substring(start + 1, first));
      long bytes = Long.parseLong(answer.substring(first + 1, second));
      Path path = new Path(prefix + answer.substring(second + 1, end));
      FileStatus status = new FileStatus(bytes, false, 1, BLOCK, modified == null ? 0L : modified.at(path), path);
      listing.files[combination].add(new FileStatusWithMetadata(status, NO_METADATA));
      start = end;
    }
    return listing;
  }
}
