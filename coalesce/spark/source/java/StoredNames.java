package coalesce.spark;

import java.util.ArrayList;
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
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Filters as Spark's Parquet reader takes them: a column by the name it has in the files, quoted where that is needed.
 *
 * <p>Spark quotes names only where fields inside columns are filtered by, too, which is for relations called "parquet". To
 * ours it gives them as they are, spaces, backticks and all, and the reader would take some for another column's.
 *
 * <p>A branch for each kind: Spark's filters are classes of their own, and none can be copied under another name.
 */
final class StoredNames {
  private final ExactParquet format;

  StoredNames(ExactParquet format) {
    this.format = format;
  }

  /** Those that can be said so. The others are left out: Spark checks all of them in the rows. */
  Seq in(Seq filters) {
    ArrayList found = new ArrayList();
    for (int i = 0; i < filters.size(); i++) {
      Filter filter = renamed((Filter) filters.apply(i));
      if (filter != null) {
        found.add(filter);
      }
    }
    return CollectionConverters.asScala(found).toSeq();
  }

  private Filter renamed(Filter filter) {
    if (filter instanceof And) {
      Filter left = renamed(((And) filter).left());
      Filter right = renamed(((And) filter).right());
      return left == null || right == null ? null : new And(left, right);
    }
    if (filter instanceof Or) {
      Filter left = renamed(((Or) filter).left());
      Filter right = renamed(((Or) filter).right());
      return left == null || right == null ? null : new Or(left, right);
    }
    if (filter instanceof Not) {
      Filter inner = renamed(((Not) filter).child());
      return inner == null ? null : new Not(inner);
    }
    if (filter instanceof EqualTo) {
      String name = named(((EqualTo) filter).attribute());
      return name == null ? null : new EqualTo(name, ((EqualTo) filter).value());
    }
    if (filter instanceof EqualNullSafe) {
      String name = named(((EqualNullSafe) filter).attribute());
      return name == null ? null : new EqualNullSafe(name, ((EqualNullSafe) filter).value());
    }
    if (filter instanceof GreaterThan) {
      String name = named(((GreaterThan) filter).attribute());
      return name == null ? null : new GreaterThan(name, ((GreaterThan) filter).value());
    }
    if (filter instanceof GreaterThanOrEqual) {
      String name = named(((GreaterThanOrEqual) filter).attribute());
      return name == null ? null : new GreaterThanOrEqual(name, ((GreaterThanOrEqual) filter).value());
    }
    if (filter instanceof LessThan) {
      String name = named(((LessThan) filter).attribute());
      return name == null ? null : new LessThan(name, ((LessThan) filter).value());
    }
    if (filter instanceof LessThanOrEqual) {
      String name = named(((LessThanOrEqual) filter).attribute());
      return name == null ? null : new LessThanOrEqual(name, ((LessThanOrEqual) filter).value());
    }
    if (filter instanceof In) {
      String name = named(((In) filter).attribute());
      return name == null ? null : new In(name, ((In) filter).values());
    }
    if (filter instanceof IsNull) {
      String name = named(((IsNull) filter).attribute());
      return name == null ? null : new IsNull(name);
    }
    if (filter instanceof IsNotNull) {
      String name = named(((IsNotNull) filter).attribute());
      return name == null ? null : new IsNotNull(name);
    }
    if (filter instanceof StringStartsWith) {
      String name = named(((StringStartsWith) filter).attribute());
      return name == null ? null : new StringStartsWith(name, ((StringStartsWith) filter).value());
    }
    if (filter instanceof StringEndsWith) {
      String name = named(((StringEndsWith) filter).attribute());
      return name == null ? null : new StringEndsWith(name, ((StringEndsWith) filter).value());
    }
    if (filter instanceof StringContains) {
      String name = named(((StringContains) filter).attribute());
      return name == null ? null : new StringContains(name, ((StringContains) filter).value());
    }
    return null;
  }

  private String named(String column) {
    String stored = format.stored(column);
    return stored == null ? null : QuotingUtils.quoteIfNeeded(stored);
  }
}
