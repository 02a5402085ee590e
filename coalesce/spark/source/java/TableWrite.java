package coalesce.spark;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.util.V2ExpressionSQLBuilder;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.DataType;

/** One write of rows: what it replaces, and the hand-over. */
public class TableWrite
    implements SupportsOverwriteV2, V1Write, InsertableRelation, CreatableRelationProvider {
  /** What a condition may be made of, besides columns and values: the same in Spark's SQL, under whichever settings. */
  private static final List UNDERSTOOD =
      Arrays.asList(
          new Object[] {
            "=", "<>", "<", "<=", ">", ">=", "<=>", "IN", "IS_NULL", "IS_NOT_NULL", "AND", "OR", "NOT", "STARTS_WITH",
            "ENDS_WITH", "CONTAINS", "ALWAYS_TRUE", "ALWAYS_FALSE"
          });

  private final WritableTable table;
  private final Map options;
  private String how = "append";
  private String where;

  TableWrite(WritableTable table, Map options) {
    this.table = table;
    this.options = options;
  }

  /** One that replaces the logical partitions that the rows are of. */
  static TableWrite partitions(WritableTable table, Map options) {
    TableWrite write = new TableWrite(table, options);
    write.how = "partitions";
    return write;
  }

  public WriteBuilder truncate() {
    how = "overwrite";
    return this;
  }

  public WriteBuilder overwrite(Predicate[] predicates) {
    how = "overwrite";
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < predicates.length; i++) {
      if (!isUnderstood(predicates[i])) {
        throw new Refused(
            "rows of " + table.name() + " cannot be replaced where " + predicates[i] + ": compare columns with values, or"
                + " replace them with coalesce.open(…, spark=spark).overwrite(df, where).");
      }
      text.append(i == 0 ? "(" : " AND (").append(new Sql().build(predicates[i])).append(")");
    }
    where = text.toString();
    return this;
  }

  private static boolean isUnderstood(Expression condition) {
    if (condition instanceof NamedReference || condition instanceof Literal) {
      return true;
    }
    boolean understood = condition instanceof Predicate && UNDERSTOOD.contains(((Predicate) condition).name());
    Expression[] children = condition.children();
    for (int i = 0; understood && i < children.length; i++) {
      understood = isUnderstood(children[i]);
    }
    return understood;
  }

  public Write build() {
    return this;
  }

  public InsertableRelation toInsertableRelation() {
    return this;
  }

  public void insert(Dataset rows, boolean overwrite) {
    table.write(rows, how, where, options);
  }

  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, scala.collection.immutable.Map options, Dataset rows) {
    insert(rows, true);
    return new WrittenTable(context, rows.schema());
  }

  public boolean supportsDataType(DataType type) {
    return true;
  }

  public String toString() {
    return "overwrite logical partitions of " + table.name();
  }

  /** A condition as the planner reads it: names quoted, and values as Catalyst writes them. */
  private static final class Sql extends V2ExpressionSQLBuilder {
    protected String visitLiteral(Literal literal) {
      return new org.apache.spark.sql.catalyst.expressions.Literal(literal.value(), literal.dataType()).sql();
    }

    /** As it is: Spark would write it out for data bases that do not have it. */
    protected String visitBinaryComparison(String name, String left, String right) {
      return name.equals("<=>") ? left + " <=> " + right : super.visitBinaryComparison(name, left, right);
    }

    protected String visitStartsWith(String left, String right) {
      return "startswith(" + left + ", " + right + ")";
    }

    protected String visitEndsWith(String left, String right) {
      return "endswith(" + left + ", " + right + ")";
    }

    protected String visitContains(String left, String right) {
      return "contains(" + left + ", " + right + ")";
    }

    protected String visitNamedReference(NamedReference reference) {
      StringBuilder text = new StringBuilder();
      String[] names = reference.fieldNames();
      for (int i = 0; i < names.length; i++) {
        text.append(i == 0 ? "`" : ".`").append(names[i].replace("`", "``")).append("`");
      }
      return text.toString();
    }
  }
}
