package coalesce.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;
import org.apache.spark.sql.sources.StringContains;
import org.apache.spark.sql.sources.StringEndsWith;
import org.apache.spark.sql.sources.StringStartsWith;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Parquet files whose columns have other names than the table's: those they had when they were added.
 *
 * <p>Only used for a table that has ever renamed or dropped a column, or has defaults for rows older than a column. The
 * names are exchanged before Spark builds its reader, in the driver; the reader itself is Spark's and knows only the
 * stored names, and so do the filters that skip row groups.
 */
public class MappedParquet extends ExactParquet {
  private static final String DEFAULT = "EXISTS_DEFAULT"; // where Spark looks for what rows older than a column hold

  private final StructType logical;
  private final StructType stored; // the same columns, in the same order, named as in the files

  MappedParquet(StructType logical, StructType stored, PlannedFiles files, boolean counted) {
    super(files, counted);
    this.logical = logical;
    this.stored = stored;
  }

  ExactParquet over(PlannedFiles files, boolean counted) {
    return new MappedParquet(logical, stored, files, counted);
  }

  SparkSession reading(SparkSession session, StructType asked) {
    return hasBinaryDefault(asked) ? withoutBatches(session) : session;
  }

  StructType stored(StructType asked) {
    return struct(asked, logical, stored);
  }

  Seq pushed(Seq filters) {
    return filters(super.pushed(filters));
  }

  public boolean supportBatch(SparkSession session, StructType schema) {
    return !hasBinaryDefault(schema) && super.supportBatch(session, schema);
  }

  /** Spark's vectorised reader fills in missing columns of every type but binary; its row by row reader of all types. */
  private boolean hasBinaryDefault(StructType asked) {
    StructField[] fields = stored(asked).fields();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].dataType() instanceof BinaryType && fields[i].metadata().contains(DEFAULT)) {
        return true;
      }
    }
    return false;
  }

  private static SparkSession withoutBatches(SparkSession session) {
    SparkSession copy = ((org.apache.spark.sql.classic.SparkSession) session).cloneSession();
    copy.conf().set("spark.sql.parquet.enableVectorizedReader", false);
    return copy;
  }

  // --- schemas ---

  /** `asked`, a selection of `logical`, under the stored names. What is not the table's (row numbers) stays as it is. */
  private static StructType struct(StructType asked, StructType logical, StructType stored) {
    StructField[] fields = asked.fields();
    StructField[] named = new StructField[fields.length];
    for (int i = 0; i < fields.length; i++) {
      scala.Option place = logical.getFieldIndex(fields[i].name());
      if (place.isEmpty()) {
        named[i] = fields[i];
        continue;
      }
      int index = ((Integer) place.get()).intValue();
      StructField there = stored.apply(index);
      DataType type = type(fields[i].dataType(), logical.apply(index).dataType(), there.dataType());
      named[i] = new StructField(there.name(), type, fields[i].nullable(), there.metadata());
    }
    return new StructType(named);
  }

  private static DataType type(DataType asked, DataType logical, DataType stored) {
    if (asked instanceof StructType) {
      return struct((StructType) asked, (StructType) logical, (StructType) stored);
    }
    if (asked instanceof ArrayType) {
      ArrayType array = (ArrayType) asked;
      DataType element =
          type(array.elementType(), ((ArrayType) logical).elementType(), ((ArrayType) stored).elementType());
      return new ArrayType(element, array.containsNull());
    }
    if (asked instanceof MapType) {
      MapType map = (MapType) asked;
      DataType key = type(map.keyType(), ((MapType) logical).keyType(), ((MapType) stored).keyType());
      DataType value = type(map.valueType(), ((MapType) logical).valueType(), ((MapType) stored).valueType());
      return new MapType(key, value, map.valueContainsNull());
    }
    return asked;
  }

  // --- filters ---

  /** The filters with stored names. One that cannot be said so is left out: Spark checks all of them in the rows. */
  private Seq filters(Seq filters) {
    ArrayList named = new ArrayList();
    for (int i = 0; i < filters.size(); i++) {
      Filter filter = filter((Filter) filters.apply(i));
      if (filter != null) {
        named.add(filter);
      }
    }
    return CollectionConverters.asScala(named).toSeq();
  }

  /** A branch for each kind: Spark's filters are classes of their own, and none can be copied under another name. */
  private Filter filter(Filter filter) {
    if (filter instanceof And) {
      Filter left = filter(((And) filter).left());
      Filter right = filter(((And) filter).right());
      return left == null || right == null ? null : new And(left, right);
    }
    if (filter instanceof Or) {
      Filter left = filter(((Or) filter).left());
      Filter right = filter(((Or) filter).right());
      return left == null || right == null ? null : new Or(left, right);
    }
    if (filter instanceof Not) {
      Filter inner = filter(((Not) filter).child());
      return inner == null ? null : new Not(inner);
    }
    if (filter instanceof EqualTo) {
      String name = name(((EqualTo) filter).attribute());
      return name == null ? null : new EqualTo(name, ((EqualTo) filter).value());
    }
    if (filter instanceof EqualNullSafe) {
      String name = name(((EqualNullSafe) filter).attribute());
      return name == null ? null : new EqualNullSafe(name, ((EqualNullSafe) filter).value());
    }
    if (filter instanceof GreaterThan) {
      String name = name(((GreaterThan) filter).attribute());
      return name == null ? null : new GreaterThan(name, ((GreaterThan) filter).value());
    }
    if (filter instanceof GreaterThanOrEqual) {
      String name = name(((GreaterThanOrEqual) filter).attribute());
      return name == null ? null : new GreaterThanOrEqual(name, ((GreaterThanOrEqual) filter).value());
    }
    if (filter instanceof LessThan) {
      String name = name(((LessThan) filter).attribute());
      return name == null ? null : new LessThan(name, ((LessThan) filter).value());
    }
    if (filter instanceof LessThanOrEqual) {
      String name = name(((LessThanOrEqual) filter).attribute());
      return name == null ? null : new LessThanOrEqual(name, ((LessThanOrEqual) filter).value());
    }
    if (filter instanceof In) {
      String name = name(((In) filter).attribute());
      return name == null ? null : new In(name, ((In) filter).values());
    }
    if (filter instanceof IsNull) {
      String name = name(((IsNull) filter).attribute());
      return name == null ? null : new IsNull(name);
    }
    if (filter instanceof IsNotNull) {
      String name = name(((IsNotNull) filter).attribute());
      return name == null ? null : new IsNotNull(name);
    }
    if (filter instanceof StringStartsWith) {
      String name = name(((StringStartsWith) filter).attribute());
      return name == null ? null : new StringStartsWith(name, ((StringStartsWith) filter).value());
    }
    if (filter instanceof StringEndsWith) {
      String name = name(((StringEndsWith) filter).attribute());
      return name == null ? null : new StringEndsWith(name, ((StringEndsWith) filter).value());
    }
    if (filter instanceof StringContains) {
      String name = name(((StringContains) filter).attribute());
      return name == null ? null : new StringContains(name, ((StringContains) filter).value());
    }
    return null;
  }

  /** The stored name of a dotted one; null if it leads through a list or a map, or nowhere. */
  private String name(String dotted) {
    List parts = CollectionConverters.asJava(CatalystSqlParser$.MODULE$.parseMultipartIdentifier(dotted));
    DataType here = logical;
    DataType there = stored;
    StringBuilder found = new StringBuilder();
    for (int i = 0; i < parts.size(); i++) {
      if (!(here instanceof StructType)) {
        return null;
      }
      scala.Option place = ((StructType) here).getFieldIndex((String) parts.get(i));
      if (place.isEmpty()) {
        return null;
      }
      int index = ((Integer) place.get()).intValue();
      StructField field = ((StructType) there).apply(index);
      found.append(i == 0 ? "" : ".").append(QuotingUtils.quoteIfNeeded(field.name()));
      here = ((StructType) here).apply(index).dataType();
      there = field.dataType();
    }
    return found.toString();
  }
}
