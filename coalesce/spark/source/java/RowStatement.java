package coalesce.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.DeleteAction;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeAction;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils$;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/** A DELETE, UPDATE or MERGE that Spark has analysed, for Python to carry out. */
public final class RowStatement {
  private final LogicalPlan plan;
  private final LogicalRelation relation;
  private final Subqueries subqueries = new Subqueries();
  private final ArrayList given = new ArrayList(); // the expressions of clauses
  private SparkSession session;

  private RowStatement(LogicalPlan plan, LogicalRelation relation) {
    this.plan = plan;
    this.relation = relation;
  }

  static RowStatement of(LogicalPlan plan, LogicalRelation relation) {
    RowStatement statement = new RowStatement(plan, relation);
    if (plan instanceof MergeIntoTable && ((MergeIntoTable) plan).withSchemaEvolution()) {
      throw new UnsupportedOperationException(
          "MERGE WITH SCHEMA EVOLUTION does not add columns to a coalesce table: add them first, with ALTER TABLE … ADD"
              + " COLUMNS or add_column(…), and leave WITH SCHEMA EVOLUTION out.");
    }
    if (plan instanceof MergeIntoTable
        && (SubqueryExpression$.MODULE$.hasSubquery(((MergeIntoTable) plan).mergeCondition()))) {
      throw new UnsupportedOperationException(
          "the condition ON which MERGE INTO matches rows takes no subquery: put it into the source, USING (SELECT …).");
    }
    return statement;
  }

  void in(SparkSession running) {
    session = running;
  }

  public SparkSession session() {
    return session;
  }

  /** Where the table lies. */
  public String table() {
    return ((CoalesceRelation) relation.relation()).files().table();
  }

  /** The version of the table that was the newest when the statement was analysed. */
  public long version() {
    return ((CoalesceRelation) relation.relation()).files().version();
  }

  /** Whether the statement reads the table somewhere else than where it changes it: in its source, or a subquery. */
  private boolean readsItself() {
    Readers readers = new Readers(table());
    plan.transformDownWithSubqueries(readers);
    return readers.count > 1;
  }

  /** Counts the scans of a table in a plan, and changes nothing. */
  private static final class Readers extends AbstractPartialFunction {
    private final String table;
    private int count = 0;

    Readers(String table) {
      this.table = table;
    }

    public boolean isDefinedAt(Object node) {
      if (node instanceof LogicalRelation
          && ((LogicalRelation) node).relation() instanceof CoalesceRelation
          && table.equals(((CoalesceRelation) ((LogicalRelation) node).relation()).files().table())) {
        count++;
      }
      return false;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      isDefinedAt(node);
      return otherwise.apply(node);
    }
  }

  /** "delete", "update" or "merge". */
  public String kind() {
    return plan instanceof DeleteFromTable ? "delete" : plan instanceof UpdateTable ? "update" : "merge";
  }

  public String toString() {
    return kind() + " coalesce " + table();
  }

  /** The rows that are merged, or null. */
  public Dataset source() {
    return plan instanceof MergeIntoTable
        ? Attributes.rows((org.apache.spark.sql.classic.SparkSession) session, ((MergeIntoTable) plan).sourceTable())
        : null;
  }

  /** When two rows match, or null if there are no others. */
  public Column on() {
    return plan instanceof MergeIntoTable ? column(((MergeIntoTable) plan).mergeCondition()) : null;
  }

  /** Zone, NUL and SQL of each condition of a DELETE, as a list in JSON, if that says all of it; else null. */
  public String conditions() {
    if (!(plan instanceof DeleteFromTable)) {
      return null;
    }
    List conjuncts = Filters.conjuncts(((DeleteFromTable) plan).condition());
    Map texts = Filters.bySql(conjuncts, Filters.names(relation.output()));
    return texts.size() == conjuncts.size() ? Bridge.write(texts.keySet()) : null;
  }

  /**
   * A frame whose first columns are the table's, with the attributes by which the statement knows them; the others stay as
   * they are.
   */
  public Dataset shown(Dataset frame) {
    return Attributes.with(relation.output(), frame);
  }

  /** A frame of all rows that the clauses speak of, with what they need of subqueries beside the rows. */
  public Dataset ready(Dataset frame) {
    return subqueries.beside(frame);
  }

  /**
   * All of the statement but its expressions, as JSON, so that it crosses to Python in one call: `names`, the columns that
   * it knows, in their order; `readsItself`; and by kind its `clauses`, each with its `condition`, `names` of what is
   * assigned and `values`, or nulls for a row that goes. Expressions are numbers there, which `given` takes.
   */
  public String described() {
    ArrayList names = new ArrayList();
    for (int i = 0; i < relation.output().size(); i++) {
      names.add(((Attribute) relation.output().apply(i)).name());
    }
    HashMap described = new HashMap();
    described.put("names", names);
    described.put("readsItself", Boolean.valueOf(readsItself()));
    described.put("matched", clauses("matched"));
    described.put("not_matched", clauses("not_matched"));
    described.put("by_source", clauses("by_source"));
    return Bridge.write(described);
  }

  /** An expression of a clause, by its number. */
  public Column given(int number) {
    return (Column) given.get(number);
  }

  private List clauses(String kind) {
    ArrayList found = new ArrayList();
    if (plan instanceof MergeIntoTable) {
      MergeIntoTable merge = (MergeIntoTable) plan;
      Seq actions =
          kind.equals("matched")
              ? merge.matchedActions()
              : kind.equals("not_matched") ? merge.notMatchedActions() : merge.notMatchedBySourceActions();
      for (int i = 0; i < actions.size(); i++) {
        found.add(clause((MergeAction) actions.apply(i)));
      }
    } else if (kind.equals("by_source")) {
      if (plan instanceof DeleteFromTable) {
        found.add(clause(Option.apply(((DeleteFromTable) plan).condition()), null));
      } else {
        UpdateTable update = (UpdateTable) plan;
        found.add(clause(update.condition(), update.assignments()));
      }
    }
    return found;
  }

  private Map clause(MergeAction action) {
    if (action instanceof DeleteAction) {
      return clause(action.condition(), null);
    }
    if (action instanceof UpdateAction) {
      return clause(action.condition(), ((UpdateAction) action).assignments());
    }
    if (action instanceof InsertAction) {
      return clause(action.condition(), ((InsertAction) action).assignments());
    }
    throw new UnsupportedOperationException("MERGE INTO has a clause that is not known here: " + action + ".");
  }

  private Map clause(Option condition, Seq assignments) {
    HashMap clause = new HashMap();
    clause.put("condition", condition.isEmpty() ? null : number((Expression) condition.get()));
    if (assignments != null) {
      ArrayList names = new ArrayList();
      ArrayList values = new ArrayList();
      for (int i = 0; i < assignments.size(); i++) {
        Assignment assignment = (Assignment) assignments.apply(i);
        names.add(name(assignment.key()));
        values.add(number(assignment.value()));
      }
      clause.put("names", names);
      clause.put("values", values);
    }
    return clause;
  }

  private Integer number(Expression expression) {
    given.add(column(expression));
    return Integer.valueOf(given.size() - 1);
  }

  /** The parts of the name of what is assigned: a column, or a member of a struct. */
  private static List name(Expression key) {
    ArrayList parts = new ArrayList();
    while (key instanceof GetStructField) {
      GetStructField member = (GetStructField) key;
      parts.add(0, member.extractFieldName());
      key = member.child();
    }
    if (!(key instanceof AttributeReference)) {
      throw new UnsupportedOperationException(key.sql() + " cannot be assigned a value: name a column of the table.");
    }
    parts.add(0, ((AttributeReference) key).name());
    return parts;
  }

  private Column column(Expression expression) {
    return ExpressionUtils$.MODULE$.column(subqueries.without(expression));
  }
}
