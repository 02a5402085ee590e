package coalesce.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Dead rows by where they lie, in files whose rows are in the order of tuples.
 *
 * <p>All rows of a version's files are numbered throughout: a file is known by the number of its first row, to which that
 * of a row in its file is added. The dead ones are ranges of these numbers, and a binary search tells whether a number is
 * in one. It reads no column of the tuples.
 */
final class DeadPlaces extends DeadRows {
  private final long[] files; // the first rows of those whose dead rows are all known here
  private final long[] edges; // where dead rows begin, and where they end, in turns

  /** Numbers that Python has written, in order, with a blank between them. */
  DeadPlaces(StructType columns, String files, String edges) {
    super(columns);
    this.files = numbers(files);
    this.edges = numbers(edges);
  }

  private static long[] numbers(String text) {
    String[] words = text.isEmpty() ? new String[0] : text.split(" ");
    long[] numbers = new long[words.length];
    for (int i = 0; i < words.length; i++) {
      numbers[i] = Long.parseLong(words[i]);
    }
    return numbers;
  }

  boolean placed() {
    return true;
  }

  boolean covers(InternalRow values, int place) {
    return Arrays.binarySearch(files, values.getLong(place)) >= 0;
  }

  /**
   * The search gives the place of an edge, or -1 minus how many edges are below. Either is even behind a beginning, up to
   * the end; odd behind an end, or before all. A reader that does not number rows is refused, not believed.
   */
  Expression condition(List attributes) {
    ArrayList words = new ArrayList();
    words.add(columns.apply(1).name());
    Expression row = new AssertNotNull((Expression) attributes.get(1), seq(words));
    ArrayList searched = new ArrayList();
    searched.add(new Literal(edges, new ObjectType(long[].class)));
    searched.add(new Add((Expression) attributes.get(0), row));
    Expression found =
        new StaticInvoke(
            Arrays.class,
            DataTypes.IntegerType,
            "binarySearch",
            seq(searched),
            seq(new ArrayList()),
            true,
            false,
            true,
            Option.empty());
    Expression one = new Literal(Integer.valueOf(1), DataTypes.IntegerType);
    return new EqualTo(new BitwiseAnd(found, one), one);
  }
}
