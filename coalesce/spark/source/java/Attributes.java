package coalesce.spark;

import java.util.ArrayList;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.ColumnNodeToExpressionConverter$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Frames with the attributes of others, so that expressions which were analysed for those hold for these. */
public final class Attributes {
  private Attributes() {}

  /** The rows of one frame with the attributes of another, which has the same columns. */
  public static Dataset of(Dataset known, Dataset frame) {
    return with(((LogicalPlan) known.queryExecution().analyzed()).output(), frame);
  }

  /** A frame with these attributes for its first columns; the others stay as they are. */
  static Dataset with(Seq known, Dataset frame) {
    LogicalPlan child = (LogicalPlan) frame.queryExecution().analyzed();
    ArrayList columns = new ArrayList();
    for (int i = 0; i < child.output().size(); i++) {
      Attribute own = (Attribute) child.output().apply(i);
      columns.add(i < known.size() ? as(own, (Attribute) known.apply(i)) : own);
    }
    return rows((SparkSession) frame.sparkSession(), new Project(CollectionConverters.asScala(columns).toSeq(), child));
  }

  private static Alias as(Attribute own, Attribute known) {
    return new Alias(
        own,
        known.name(),
        known.exprId(),
        known.qualifier(),
        Option.empty(),
        (Seq) scala.collection.immutable.Nil$.MODULE$);
  }

  /** Whether a star stands in an expression without saying whose columns are meant. */
  public static boolean hasStar(Column column) {
    Seq leaves = ((Expression) ColumnNodeToExpressionConverter$.MODULE$.apply(column.node())).collectLeaves();
    for (int i = 0; i < leaves.size(); i++) {
      if (leaves.apply(i) instanceof UnresolvedStar && ((UnresolvedStar) leaves.apply(i)).target().isEmpty()) {
        return true;
      }
    }
    return false;
  }

  /** Rows of a plan that is analysed, and partly optimized: subqueries in it would not stand being analysed again. */
  static Dataset rows(SparkSession session, LogicalPlan analysed) {
    analysed.setAnalyzed();
    return Dataset$.MODULE$.ofRows(session, analysed);
  }
}
