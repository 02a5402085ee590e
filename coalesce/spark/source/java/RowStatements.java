package coalesce.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * DELETE, UPDATE and MERGE. Spark analyses them on any relation, and then has no plan for one like ours: here each becomes
 * a command that hands the statement to Python.
 *
 * <p>It comes before `PruneFiles`, which would take the table apart.
 */
public class RowStatements extends Rule {

  public TreeNode apply(TreeNode plan) {
    LogicalPlan target =
        plan instanceof DeleteFromTable
            ? ((DeleteFromTable) plan).table()
            : plan instanceof UpdateTable
                ? ((UpdateTable) plan).table()
                : plan instanceof MergeIntoTable ? ((MergeIntoTable) plan).targetTable() : null;
    while (target instanceof SubqueryAlias) {
      target = ((SubqueryAlias) target).child();
    }
    if (!(target instanceof LogicalRelation)
        || !(((LogicalRelation) target).relation() instanceof CoalesceRelation)) {
      return plan;
    }
    LogicalRelation relation = (LogicalRelation) target;
    return new SaveIntoDataSourceCommand(
        (LogicalPlan) CreateTables.empty(new StructType()),
        new Run(RowStatement.of((LogicalPlan) plan, relation)),
        ((CoalesceRelation) relation.relation()).options(),
        SaveMode.Overwrite);
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
