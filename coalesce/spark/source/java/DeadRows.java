package coalesce.spark;

import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows that files still hold and the table has no more: by their tuples, or by where they lie in files whose rows are
 * in the order of tuples.
 *
 * <p>The condition that leaves them out is made of Spark's own expressions, and of collections that executors have.
 */
abstract class DeadRows {
  /** A column that Spark's Parquet reader makes up: the number of the row in its file. */
  static final String ROW_INDEX = "_tmp_metadata_row_index";

  /** What is in use, by a digest of what it was made of: Spark reads twice what it cannot see to be the same. */
  private static final Map KNOWN = new HashMap();

  final StructType columns; // what tells files apart, the same for all rows of one; then what tells its rows

  DeadRows(StructType columns) {
    this.columns = columns;
  }

  /** Texts that Python has written, as `DeadPlaces` takes them if the rows are `placed`, or else `DeadTuples`. */
  static synchronized DeadRows of(StructType columns, boolean placed, String first, String second) {
    // Told apart: all that a removal changes may be which of the two a line is in.
    String digest = digest(placed + columns.json() + Filters.END + first + Filters.END + second);
    WeakReference known = (WeakReference) KNOWN.get(digest);
    DeadRows found = known == null ? null : (DeadRows) known.get();
    if (found == null) {
      found = placed ? (DeadRows) new DeadPlaces(columns, first, second) : new DeadTuples(columns, first, second);
      for (Iterator others = KNOWN.values().iterator(); others.hasNext(); ) {
        if (((WeakReference) others.next()).get() == null) {
          others.remove();
        }
      }
      KNOWN.put(digest, new WeakReference(found));
    }
    return found;
  }

  private static String digest(String text) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return new java.math.BigInteger(1, digest).toString(16);
    } catch (java.security.NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** The name of the column that tells files apart. */
  String number() {
    return columns.apply(0).name();
  }

  /** The names of all columns that `condition` wants, that one first. */
  String[] names() {
    return columns.fieldNames();
  }

  /** Whether the number of the row in its file is one of them, which no file holds. */
  boolean placed() {
    return false;
  }

  /** Whether all is known of the file that has its number at this place of `values`. */
  abstract boolean covers(InternalRow values, int place);

  /** That a row is none of these; `attributes` are those of `names`. Never NULL. */
  abstract Expression condition(List attributes);

  static Seq seq(List list) {
    return CollectionConverters.asScala(list).toSeq();
  }
}
