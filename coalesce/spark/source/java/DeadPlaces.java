package coalesce.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.ShiftRight;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Dead rows by where they lie, in files whose rows are in the order of tuples.
 *
 * <p>All rows of a version's files are numbered throughout: a file is known by the number of its first row, to which that
 * of a row in its file is added. The dead ones are ranges of these numbers, and a binary search tells whether a number is
 * in one: but only in blocks of rows in which there are dead ones, as it takes longer than all the rest. It reads no
 * column of the tuples.
 */
final class DeadPlaces extends DeadRows {
  private static final DataType INT = DataTypes.IntegerType;
  private static final int SMALLEST_BLOCK = 8; // as a power of two
  private static final long MOST_BLOCKS = 1L << 23; // which take a megabyte

  final long[] files; // the first rows of those whose dead rows are all known here
  final long[] ends; // of each of them, the number behind its last row
  final long[] sizes; // of each of them, in bytes
  final long[] edges; // where dead rows begin, and where they end, in turns
  private final BitSet blocks = new BitSet(); // those in which there are dead rows
  private final int block; // how many rows one has, as a power of two

  /** Numbers that Python has written, with a blank between them: of files the first row, the end and the bytes in turns. */
  DeadPlaces(StructType columns, String files, String edges) {
    super(columns);
    long[] all = numbers(files);
    this.files = new long[all.length / 3];
    this.ends = new long[all.length / 3];
    this.sizes = new long[all.length / 3];
    for (int i = 0; i < this.files.length; i++) {
      this.files[i] = all[3 * i];
      this.ends[i] = all[3 * i + 1];
      this.sizes[i] = all[3 * i + 2];
    }
    this.edges = numbers(edges);
    int size = SMALLEST_BLOCK;
    while (this.edges.length > 0 && this.edges[this.edges.length - 1] >> size >= MOST_BLOCKS) {
      size++;
    }
    this.block = size;
    for (int i = 0; i < this.edges.length; i += 2) {
      blocks.set((int) (this.edges[i] >> size), (int) ((this.edges[i + 1] - 1) >> size) + 1);
    }
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

  /** What is left out, for explain(). */
  String description() {
    long rows = 0;
    for (int i = 0; i < edges.length; i += 2) {
      rows += edges[i + 1] - edges[i];
    }
    return "without " + rows + " rows in " + edges.length / 2 + " ranges";
  }

  boolean covers(InternalRow values, int place) {
    return Arrays.binarySearch(files, values.getLong(place)) >= 0;
  }

  /**
   * The search gives the place of an edge, or -1 minus how many edges are below. Either is even behind a beginning, up to
   * the end; odd behind an end, or before all. A reader that does not number rows is refused, not believed.
   */
  Expression condition(List attributes) {
    Expression row = new AssertNotNull((Expression) attributes.get(1), seq(list(columns.apply(1).name(), null)));
    Expression number = new Add((Expression) attributes.get(0), row);
    Expression place =
        call(Math.class, "toIntExact", list(new ShiftRight(number, new Literal(Integer.valueOf(block), INT)), null));
    Expression mixed =
        new Invoke(
            new Literal(blocks, new ObjectType(BitSet.class)),
            "get",
            DataTypes.BooleanType,
            seq(list(place, null)),
            seq(new ArrayList()),
            true,
            false,
            true);
    Expression found =
        call(Arrays.class, "binarySearch", list(new Literal(edges, new ObjectType(long[].class)), number));
    Expression one = new Literal(Integer.valueOf(1), INT);
    return new Or(new Not(mixed), new EqualTo(new BitwiseAnd(found, one), one));
  }

  private static Expression call(Class type, String method, List arguments) {
    return new StaticInvoke(
        type, INT, method, seq(arguments), seq(new ArrayList()), true, false, true, Option.empty());
  }

  private static List list(Object first, Object second) {
    ArrayList list = new ArrayList();
    list.add(first);
    if (second != null) {
      list.add(second);
    }
    return list;
  }
}
