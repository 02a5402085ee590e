package coalesce.spark;

import java.util.ArrayList;
import java.util.Set;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What the Parquet reader may skip row groups and pages by: the query's filters, so that it finds what Spark finds.
 *
 * <p>The two part over floating-point numbers, and files that keep like with like show it.
 *
 * <p>Zero has two signs. To Spark they are equal; Parquet's dictionaries and Bloom filters know them by their bits, and
 * order -0.0 below 0.0. So both are asked for, or the one that includes the other.
 *
 * <p>NaN is the greatest number to Spark, and equal to itself. Writers leave it out of minimum and maximum (pyarrow) or
 * write neither if there is one (Parquet's Java library), so bounds say nothing of it. A filter that NaN may pass is
 * used on columns that hold none, as far as is known of the files of this scan.
 */
final class Pushed {
  private static final Double[] DOUBLES = {Double.valueOf(-0.0d), Double.valueOf(0.0d)};
  private static final Float[] FLOATS = {Float.valueOf(-0.0f), Float.valueOf(0.0f)};

  private final PlannedFiles files;
  private Set withoutNan; // asked for once, if it comes to that

  Pushed(PlannedFiles files) {
    this.files = files;
  }

  Seq exact(Seq filters) {
    ArrayList found = new ArrayList();
    for (int i = 0; i < filters.size(); i++) {
      Filter filter = (Filter) filters.apply(i);
      if (!mayLoseNan(filter, false)) {
        found.add(withBothZeros(filter));
      }
    }
    return CollectionConverters.asScala(found).toSeq();
  }

  // --- zero ---

  /** The same condition, which holds for both zeros or for neither also where they are told apart. */
  private static Filter withBothZeros(Filter filter) {
    if (filter instanceof And) {
      return new And(withBothZeros(((And) filter).left()), withBothZeros(((And) filter).right()));
    }
    if (filter instanceof Or) {
      return new Or(withBothZeros(((Or) filter).left()), withBothZeros(((Or) filter).right()));
    }
    if (filter instanceof Not) {
      return new Not(withBothZeros(((Not) filter).child()));
    }
    if (filter instanceof EqualTo && isZero(((EqualTo) filter).value())) {
      return either(((EqualTo) filter).attribute(), ((EqualTo) filter).value());
    }
    if (filter instanceof EqualNullSafe && isZero(((EqualNullSafe) filter).value())) {
      String name = ((EqualNullSafe) filter).attribute();
      Object zero = ((EqualNullSafe) filter).value();
      return new Or(new EqualNullSafe(name, zero(zero, 0)), new EqualNullSafe(name, zero(zero, 1)));
    }
    if (filter instanceof LessThan && isZero(((LessThan) filter).value())) {
      return new LessThan(((LessThan) filter).attribute(), zero(((LessThan) filter).value(), 0));
    }
    if (filter instanceof GreaterThanOrEqual && isZero(((GreaterThanOrEqual) filter).value())) {
      GreaterThanOrEqual from = (GreaterThanOrEqual) filter;
      return new GreaterThanOrEqual(from.attribute(), zero(from.value(), 0));
    }
    if (filter instanceof GreaterThan && isZero(((GreaterThan) filter).value())) {
      return new GreaterThan(((GreaterThan) filter).attribute(), zero(((GreaterThan) filter).value(), 1));
    }
    if (filter instanceof LessThanOrEqual && isZero(((LessThanOrEqual) filter).value())) {
      LessThanOrEqual upTo = (LessThanOrEqual) filter;
      return new LessThanOrEqual(upTo.attribute(), zero(upTo.value(), 1));
    }
    return filter instanceof In ? in((In) filter) : filter;
  }

  /** Spark would take the zeros of one list for the same value. */
  private static Filter in(In filter) {
    Object[] values = filter.values();
    ArrayList others = new ArrayList();
    Object zero = null;
    for (int i = 0; i < values.length; i++) {
      if (isZero(values[i])) {
        zero = values[i];
      } else {
        others.add(values[i]);
      }
    }
    if (zero == null) {
      return filter;
    }
    Filter zeros = either(filter.attribute(), zero);
    return others.isEmpty() ? zeros : new Or(new In(filter.attribute(), others.toArray()), zeros);
  }

  private static Filter either(String name, Object zero) {
    return new Or(new EqualTo(name, zero(zero, 0)), new EqualTo(name, zero(zero, 1)));
  }

  private static boolean isZero(Object value) {
    return isFloating(value) && ((Number) value).doubleValue() == 0.0d;
  }

  /** The negative zero, 0, or the positive one, 1, of the type that a zero has. */
  private static Object zero(Object like, int sign) {
    return like instanceof Float ? (Object) FLOATS[sign] : (Object) DOUBLES[sign];
  }

  // --- NaN ---

  /** Whether NaN may pass the filter, or its negation, on a column that may hold it. */
  private boolean mayLoseNan(Filter filter, boolean negated) {
    if (filter instanceof And) {
      return mayLoseNan(((And) filter).left(), negated) || mayLoseNan(((And) filter).right(), negated);
    }
    if (filter instanceof Or) {
      return mayLoseNan(((Or) filter).left(), negated) || mayLoseNan(((Or) filter).right(), negated);
    }
    if (filter instanceof Not) {
      return mayLoseNan(((Not) filter).child(), true);
    }
    if (filter instanceof GreaterThan) {
      return isFloating(((GreaterThan) filter).value()) && mayHoldNan(((GreaterThan) filter).attribute());
    }
    if (filter instanceof GreaterThanOrEqual) {
      GreaterThanOrEqual from = (GreaterThanOrEqual) filter;
      return isFloating(from.value()) && mayHoldNan(from.attribute());
    }
    if (filter instanceof LessThan) {
      return mayPass(((LessThan) filter).value(), negated) && mayHoldNan(((LessThan) filter).attribute());
    }
    if (filter instanceof LessThanOrEqual) {
      return mayPass(((LessThanOrEqual) filter).value(), negated) && mayHoldNan(((LessThanOrEqual) filter).attribute());
    }
    if (filter instanceof EqualTo) {
      return mayPass(((EqualTo) filter).value(), negated) && mayHoldNan(((EqualTo) filter).attribute());
    }
    if (filter instanceof EqualNullSafe) {
      return mayPass(((EqualNullSafe) filter).value(), negated) && mayHoldNan(((EqualNullSafe) filter).attribute());
    }
    if (filter instanceof In) {
      Object[] values = ((In) filter).values();
      for (int i = 0; i < values.length; i++) {
        if (mayPass(values[i], negated)) {
          return mayHoldNan(((In) filter).attribute());
        }
      }
    }
    return false;
  }

  /** Whether NaN may pass a comparison with this value, where only NaN and a negation let it. */
  private static boolean mayPass(Object value, boolean negated) {
    return isFloating(value) && (negated || Double.isNaN(((Number) value).doubleValue()));
  }

  private static boolean isFloating(Object value) {
    return value instanceof Double || value instanceof Float;
  }

  /** What lies inside a column has no statistics that could say no. */
  private boolean mayHoldNan(String name) {
    if (withoutNan == null) {
      withoutNan = files.columnsWithoutNan();
    }
    return !withoutNan.contains(name);
  }
}
