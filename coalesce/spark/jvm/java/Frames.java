package coalesce.spark.jvm;

import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils$;
import org.apache.spark.sql.classic.SparkSession;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** Frames that are made of text, in one call each: a column that Python puts together is several calls for each word. */
public final class Frames {

  /** The frame with other names for its columns, all of them, each ended by a NUL. */
  public Dataset renamed(Dataset frame, String names) {
    return (Dataset) frame.toDF(split(names));
  }

  /**
   * Expressions on the rows of a frame, in SQL, each ended by a NUL. A column that is called as `mark` and a number is the
   * one of that number in `given`.
   */
  public Dataset selected(Dataset frame, String texts, String mark, List given) throws Exception {
    ParserInterface parser = ((SparkSession) frame.sparkSession()).sessionState().sqlParser();
    String[] each = split(texts);
    Column[] columns = new Column[each.length];
    for (int i = 0; i < each.length; i++) {
      Expression parsed = (Expression) parser.parseExpression(each[i]);
      columns[i] = ExpressionUtils$.MODULE$.column((Expression) parsed.transformUp(new Filled(mark, given)));
    }
    return (Dataset) frame.select(columns);
  }

  private static String[] split(String texts) {
    return texts.isEmpty() ? new String[0] : texts.substring(0, texts.length() - 1).split("\0", -1);
  }

  /** Puts columns where their names stand. */
  public static final class Filled extends AbstractPartialFunction {
    private final String mark;
    private final List given;

    Filled(String mark, List given) {
      this.mark = mark;
      this.given = given;
    }

    public boolean isDefinedAt(Object node) {
      if (given.isEmpty() || !(node instanceof UnresolvedAttribute)) {
        return false;
      }
      UnresolvedAttribute attribute = (UnresolvedAttribute) node;
      return attribute.nameParts().size() == 1 && ((String) attribute.nameParts().apply(0)).startsWith(mark);
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) {
        return otherwise.apply(node);
      }
      String name = (String) ((UnresolvedAttribute) node).nameParts().apply(0);
      Column column = (Column) given.get(Integer.parseInt(name.substring(mark.length())));
      return ExpressionUtils$.MODULE$.expression(column);
    }
  }
}
