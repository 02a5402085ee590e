package coalesce.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Parquet files whose columns have other names than the table's: those they had when they were added.
 *
 * <p>Only used for a table that has ever renamed or dropped a column, or has defaults for rows older than a column. The
 * names are exchanged before Spark builds its reader, in the driver; the reader itself is Spark's and knows only the
 * stored names, and so do the filters that skip row groups.
 */
public class MappedParquet extends ExactParquet {
  private static final String DEFAULT = "EXISTS_DEFAULT"; // where Spark looks for what rows older than a column hold
  private static final String PRUNES = "spark.sql.optimizer.nestedSchemaPruning.enabled";

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

  /**
   * Spark's vectorised reader fills in missing columns of every type but binary; its row by row reader of all types, but
   * only in a session that leaves columns out, also inside others.
   */
  SparkSession reading(SparkSession session, StructType asked) {
    boolean byRows = hasDefault(asked, true);
    if (!byRows && (Boolean.parseBoolean(session.conf().get(PRUNES)) || !hasDefault(asked, false))) {
      return session;
    }
    SparkSession copy = ((org.apache.spark.sql.classic.SparkSession) session).cloneSession();
    copy.conf().set(PRUNES, true);
    if (byRows) {
      copy.conf().set("spark.sql.parquet.enableVectorizedReader", false);
    }
    return copy;
  }

  StructType stored(StructType asked) {
    return struct(asked, logical, stored);
  }

  String stored(String column) {
    scala.Option place = logical.getFieldIndex(column);
    return place.isEmpty() ? null : stored.apply(((Integer) place.get()).intValue()).name();
  }

  public boolean supportBatch(SparkSession session, StructType schema) {
    return !hasDefault(schema, true) && super.supportBatch(session, schema);
  }

  /** Whether one of these columns, or of those that are `binary`, has a value for rows older than it. */
  private boolean hasDefault(StructType asked, boolean binary) {
    StructField[] fields = stored(asked).fields();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].metadata().contains(DEFAULT) && (!binary || fields[i].dataType() instanceof BinaryType)) {
        return true;
      }
    }
    return false;
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
}
