package coalesce.spark;

import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import scala.Product;

/** A table of the catalog for SHOW CREATE TABLE: with its partition fields, which the catalog has no place for. */
public class ShownTable extends V1Table {
  private final List fields;

  private ShownTable(CatalogTable table, List fields) {
    super(table);
    this.fields = fields;
  }

  /** The command, about such a table if it is about a coalesce table. */
  static TreeNode in(ShowCreateTable command) {
    if (!(command.child() instanceof ResolvedTable)) {
      return command;
    }
    ResolvedTable resolved = (ResolvedTable) command.child();
    if (!(resolved.table() instanceof V1Table) || resolved.table() instanceof ShownTable) {
      return command;
    }
    CatalogTable table = ((V1Table) resolved.table()).v1Table();
    if (!Catalog.isOurs(table)) {
      return command;
    }
    HashMap changes = new HashMap();
    changes.put("table", new ShownTable(table, (List) Catalog.described(table).get("fields")));
    Object shown = Copies.changed((Product) resolved, changes);
    changes.clear();
    changes.put("child", shown);
    return (TreeNode) Copies.changed((Product) command, changes);
  }

  public Transform[] partitioning() {
    Transform[] transforms = new Transform[fields.size()];
    for (int i = 0; i < transforms.length; i++) {
      transforms[i] = new Text((String) fields.get(i));
    }
    return transforms;
  }

  /** A transform that is only to be shown. */
  private static final class Text implements Transform {
    private final String text;

    Text(String text) {
      this.text = text;
    }

    public String name() {
      return "coalesce";
    }

    public NamedReference[] references() {
      return new NamedReference[0];
    }

    public Expression[] arguments() {
      return new Expression[0];
    }

    public String describe() {
      return text;
    }
  }
}
