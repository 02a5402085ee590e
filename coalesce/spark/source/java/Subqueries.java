package coalesce.spark;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.optimizer.RewriteCorrelatedScalarSubquery$;
import org.apache.spark.sql.catalyst.optimizer.RewritePredicateSubquery$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The subqueries of a statement, to be computed in columns of their own.
 *
 * <p>Spark has begun to optimize them when the statement comes here: what they say of the row is apart from them already. It
 * would not take them for subqueries of a query that is yet to be analysed, so it goes on: they become joins.
 */
final class Subqueries {
  private final ArrayList columns = new ArrayList();

  /** The expression with columns in the place of its subqueries. */
  Expression without(Expression expression) {
    if (!SubqueryExpression$.MODULE$.hasSubquery(expression)) {
      return expression;
    }
    boolean isNotIn = expression instanceof Not && ((Not) expression).child() instanceof InSubquery;
    if (isNotIn || expression instanceof InSubquery || expression instanceof SubqueryExpression) {
      return column(expression);
    }
    ArrayList children = new ArrayList();
    for (int i = 0; i < expression.children().size(); i++) {
      children.add(without((Expression) expression.children().apply(i)));
    }
    return (Expression) expression.withNewChildren(CollectionConverters.asScala(children).toSeq());
  }

  private Expression column(Expression subquery) {
    Seq nothing = (Seq) scala.collection.immutable.Nil$.MODULE$;
    String name = "_subquery_" + columns.size();
    Alias alias = new Alias(subquery, name, NamedExpression$.MODULE$.newExprId(), nothing, Option.empty(), nothing);
    columns.add(alias);
    return (Expression) alias.toAttribute();
  }

  /** A frame of the rows that the subqueries speak of, with the columns beside its own. */
  Dataset beside(Dataset frame) {
    if (columns.isEmpty()) {
      return frame;
    }
    LogicalPlan child = (LogicalPlan) frame.queryExecution().analyzed();
    ArrayList all = new ArrayList(CollectionConverters.asJava(child.output()));
    all.addAll(columns);
    LogicalPlan plan = new Project(CollectionConverters.asScala(all).toSeq(), child);
    plan = RewriteCorrelatedScalarSubquery$.MODULE$.apply(plan);
    return Attributes.rows((SparkSession) frame.sparkSession(), RewritePredicateSubquery$.MODULE$.apply(plan));
  }
}
