package coalesce.spark;

import java.math.BigDecimal;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Values that Python sends: each '-' for NULL or '=' and its text, separated by blanks in a row.
 *
 * <p>Text and binary are in base64, dates and timestamps are the integers Spark holds.
 */
final class Values {
  private Values() {}

  static InternalRow row(String text, StructType types) {
    Object[] values = new Object[types.length()];
    int start = 0;
    for (int i = 0; i < values.length; i++) {
      int end = text.indexOf(' ', start);
      end = end < 0 ? text.length() : end;
      values[i] = text.charAt(start) == '-' ? null : value(text.substring(start + 1, end), types.apply(i).dataType());
      start = end + 1;
    }
    return new GenericInternalRow(values);
  }

  private static Object value(String text, DataType type) {
    if (type instanceof StringType) {
      return UTF8String.fromBytes(Base64.getDecoder().decode(text));
    }
    if (type instanceof BinaryType) {
      return Base64.getDecoder().decode(text);
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return Integer.valueOf(text);
    }
    if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) {
      return Long.valueOf(text);
    }
    if (type instanceof ShortType) {
      return Short.valueOf(text);
    }
    if (type instanceof ByteType) {
      return Byte.valueOf(text);
    }
    if (type instanceof BooleanType) {
      return Boolean.valueOf(text);
    }
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return Decimal.apply(new BigDecimal(text), decimal.precision(), decimal.scale());
    }
    if (type instanceof FloatType) {
      return Float.valueOf(text);
    }
    if (type instanceof DoubleType) {
      return Double.valueOf(text);
    }
    throw new IllegalArgumentException("a value of type " + type.catalogString() + " cannot cross the bridge.");
  }
}
