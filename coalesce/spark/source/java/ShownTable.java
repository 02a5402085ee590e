package coalesce.spark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Product;

/**
 * A table of the catalog with its partition fields, for which the catalog has no place: for SHOW CREATE TABLE, and for
 * whatever reads or describes a table of a warehouse.
 */
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

  /** A table of a warehouse, at the version that was asked for, as Python describes it. */
  static ShownTable of(Warehouse catalog, Identifier ident, Map found) {
    HashMap options = new HashMap();
    if (found.get("version") != null) {
      options.put("coalesce.version", found.get("version"));
    }
    HashMap changes = new HashMap();
    changes.put("locationUri", Option.apply(new Path((String) found.get("location")).toUri()));
    changes.put("properties", CreateTables.scala(options));
    Object storage = Copies.changed(CatalogStorageFormat.empty(), changes);
    String namespace = String.join(".", ident.namespace());
    HashMap properties = new HashMap((Map) found.get("properties"));
    Object[] first = {
      new TableIdentifier(ident.name(), Option.apply(namespace), Option.apply(catalog.name())),
      CatalogTableType.MANAGED(),
      storage,
      DataType.fromJson((String) found.get("schema")),
      Option.apply("coalesce")
    };
    changes.clear();
    changes.put("comment", Option.apply(properties.remove("comment")));
    changes.put("properties", CreateTables.scala(properties));
    changes.put("ignoredProperties", CreateTables.scala(catalog.named(ident)));
    Object table = Copies.changed((Product) Copies.made(CatalogTable.class, first), changes);
    return new ShownTable((CatalogTable) table, (List) found.get("fields"));
  }

  public Transform[] partitioning() {
    return transforms(fields, schema());
  }

  /** Partition fields as Spark has them: columns, which it understands, and texts, which it only shows. */
  static Transform[] transforms(List fields, StructType schema) {
    Transform[] transforms = new Transform[fields.size()];
    for (int i = 0; i < transforms.length; i++) {
      String text = (String) fields.get(i);
      String name = text.startsWith("`") ? text.substring(1, text.length() - 1).replace("``", "`") : text;
      boolean column = schema.getFieldIndex(name).isDefined();
      transforms[i] = column ? (Transform) Expressions.identity(text) : (Transform) new Text(text);
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
