package coalesce.spark;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CreateStruct$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.collection.OpenHashSet;
import scala.reflect.ClassTag$;

/**
 * Dead rows by the tuples they have and the number of the file.
 *
 * <p>A hash of the file and the tuple decides, if no live tuple of these files has that of a dead one. Where one has, or
 * there are too many to try, the tuples themselves are compared, too. Spark's sets, unlike a list of literals, are called
 * by their class in explain() and take no boxed numbers.
 */
final class DeadTuples extends DeadRows {
  private final HashSet files = new HashSet(); // those whose dead tuples are all known here
  private final OpenHashSet hashes = new org.apache.spark.util.collection.OpenHashSet$mcJ$sp(64, ClassTag$.MODULE$.Long());
  private final OpenHashSet tuples; // null if the hashes alone tell dead tuples from live ones

  /** Lines that Python has written, each a row of `columns`; `live` is null if there are too many. */
  DeadTuples(StructType columns, String dead, String live) {
    super(columns);
    ArrayList places = new ArrayList();
    for (int i = 0; i < columns.length(); i++) {
      places.add(new BoundReference(i, columns.apply(i).dataType(), true));
    }
    Expression hash = hash(places);
    Expression tuple = tuple(places);
    OpenHashSet held = new OpenHashSet(64, ClassTag$.MODULE$.AnyRef());
    for (Iterator rows = rows(dead); rows.hasNext(); ) {
      InternalRow row = (InternalRow) rows.next();
      files.add(Integer.valueOf(row.getInt(0)));
      hashes.add$mcJ$sp(((Long) hash.eval(row)).longValue());
      held.add(tuple.eval(row));
    }
    boolean told = live != null;
    for (Iterator rows = rows(told ? live : ""); told && rows.hasNext(); ) {
      told = !hashes.contains$mcJ$sp(((Long) hash.eval((InternalRow) rows.next())).longValue());
    }
    this.tuples = told ? null : held;
  }

  private Iterator rows(String lines) {
    ArrayList rows = new ArrayList();
    int start = 0;
    while (start < lines.length()) {
      int end = lines.indexOf('\n', start);
      rows.add(Values.row(lines.substring(start, end), columns));
      start = end + 1;
    }
    return rows.iterator();
  }

  boolean covers(InternalRow values, int place) {
    return files.contains(Integer.valueOf(values.getInt(place)));
  }

  Expression condition(List attributes) {
    ArrayList hash = new ArrayList();
    hash.add(hash(attributes));
    Expression hit = contains(hashes, "contains$mcJ$sp", hash);
    if (tuples == null) {
      return new Not(hit);
    }
    ArrayList tuple = new ArrayList();
    tuple.add(tuple(attributes));
    return new Not(new And(hit, contains(tuples, "contains", tuple)));
  }

  private static Expression hash(List key) {
    return new XxHash64(seq(key), 42L);
  }

  private static Expression tuple(List key) {
    return CreateStruct$.MODULE$.apply(seq(key));
  }

  private static Expression contains(OpenHashSet set, String method, List value) {
    Literal literal = new Literal(set, new ObjectType(OpenHashSet.class));
    return new Invoke(literal, method, DataTypes.BooleanType, seq(value), seq(new ArrayList()), true, false, true);
  }
}
