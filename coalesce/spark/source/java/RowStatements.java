package coalesce.spark;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.optimizer.ReplaceCTERefWithRepartition$;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;

/**
 * DELETE, UPDATE and MERGE. Spark analyses them on any relation, and then has no plan for one like ours: here each becomes
 * a command that hands the statement to Python.
 *
 * <p>It comes before `PruneFiles`, which would take the table apart.
 */
public class RowStatements extends Rule {

  public TreeNode apply(TreeNode given) {
    TreeNode plan = whole(given);
    LogicalPlan target =
        plan instanceof DeleteFromTable
            ? ((DeleteFromTable) plan).table()
            : plan instanceof UpdateTable
                ? ((UpdateTable) plan).table()
                : plan instanceof MergeIntoTable ? ((MergeIntoTable) plan).targetTable() : null;
    LogicalRelation relation = target == null ? null : relation(target);
    if (relation == null) {
      checkNoScan(plan, target);
      return plan;
    }
    return new SaveIntoDataSourceCommand(
        (LogicalPlan) CreateTables.empty(new StructType()),
        new Run(RowStatement.of((LogicalPlan) plan, relation)),
        ((CoalesceRelation) relation.relation()).options(),
        SaveMode.Overwrite);
  }

  /**
   * A statement with all that it reads inside of it: of subqueries that read the same, Spark has made one, which stands
   * beside the statement by now.
   */
  private static TreeNode whole(TreeNode plan) {
    LogicalPlan inside = plan instanceof WithCTE ? ((WithCTE) plan).plan() : null;
    boolean isStatement =
        inside instanceof DeleteFromTable || inside instanceof UpdateTable || inside instanceof MergeIntoTable;
    return isStatement ? ReplaceCTERefWithRepartition$.MODULE$.apply((LogicalPlan) plan) : plan;
  }

  /** The relation of a coalesce table that a statement is about, or null; of one that is cached, the one behind. */
  private static LogicalRelation relation(LogicalPlan target) {
    if (target instanceof SubqueryAlias) {
      return relation(((SubqueryAlias) target).child());
    }
    if (target instanceof InMemoryRelation) {
      LogicalRelation cached = relation(((InMemoryRelation) target).cacheBuilder().logicalPlan());
      if (cached == null) {
        return null;
      }
      HashMap changes = new HashMap();
      changes.put("output", target.output());
      return (LogicalRelation) Copies.changed((Product) cached, changes);
    }
    boolean ours =
        target instanceof LogicalRelation && ((LogicalRelation) target).relation() instanceof CoalesceRelation;
    return ours ? (LogicalRelation) target : null;
  }

  /** Say what to do if there is more between a statement and its table than a name. */
  private static void checkNoScan(TreeNode plan, LogicalPlan target) {
    if (target == null) {
      return;
    }
    Iterator leaves = CollectionConverters.asJava(target.collectLeaves()).iterator();
    while (leaves.hasNext()) {
      if (relation((LogicalPlan) leaves.next()) != null) {
        String kind = plan instanceof DeleteFromTable ? "DELETE" : plan instanceof UpdateTable ? "UPDATE" : "MERGE";
        throw new UnsupportedOperationException(
            kind + " works on a coalesce table itself: a view that filters or computes cannot be changed, and functions"
                + " of Python's are for t.delete(…), t.update(…) and t.merge(…).");
      }
    }
  }

  /** The statement, as something Spark "saves" when it runs the command and not when it only explains it. */
  public static class Run implements CreatableRelationProvider {
    private final RowStatement statement;

    Run(RowStatement statement) {
      this.statement = statement;
    }

    public BaseRelation createRelation(
        SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset none) {
      Map question = Bridge.question("statement");
      question.put("table", statement.table());
      question.put("options", new HashMap(CollectionConverters.asJava(options)));
      statement.in(context.sparkSession());
      Bridge.ask(question, statement);
      return new WrittenTable(context, new StructType());
    }

    public boolean supportsDataType(DataType type) {
      return true;
    }

    public String toString() {
      return statement.toString();
    }
  }
}
