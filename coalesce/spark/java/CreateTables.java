package coalesce.spark;

import java.lang.reflect.Constructor;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.command.CreateDataSourceTableCommand;
import org.apache.spark.sql.execution.datasources.DataSourceUtils;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Lets CREATE TABLE say what PARTITIONED BY, or partitionBy before saveAsTable, has said.
 *
 * <p>Spark keeps that from a source and for the catalog, where it would mean directories: the table would be made without
 * partition fields. Here it goes where DataFrameWriter.save puts it, into the options.
 */
public class CreateTables extends Rule {
  /** The option in which DataFrameWriter hands over what partitionBy was given. */
  private static final String PARTITION_COLUMNS = "__partition_columns";

  /** Says that the columns given with the options are for a new table. */
  private static final String CREATE = "coalesce.create";

  public TreeNode apply(TreeNode plan) {
    if (plan instanceof CreateDataSourceTableAsSelectCommand) {
      CreateDataSourceTableAsSelectCommand command = (CreateDataSourceTableAsSelectCommand) plan;
      CatalogTable table = described(command.table(), false);
      return table == null
          ? plan
          : new CreateDataSourceTableAsSelectCommand(
              table, command.mode(), command.query(), command.outputColumnNames());
    }
    if (plan instanceof CreateDataSourceTableCommand) {
      CreateDataSourceTableCommand command = (CreateDataSourceTableCommand) plan;
      CatalogTable table = described(command.table(), !command.table().schema().isEmpty());
      return table == null ? plan : new CreateDataSourceTableCommand(table, command.ignoreIfExists());
    }
    return plan;
  }

  /** The table with its partition columns among the options; null if there is nothing to change. */
  private static CatalogTable described(CatalogTable table, boolean create) {
    boolean ours = table.provider().isDefined() && "coalesce".equalsIgnoreCase((String) table.provider().get());
    scala.collection.immutable.Map options = table.storage().properties();
    if (!ours || (table.partitionColumnNames().isEmpty() && (!create || options.contains(CREATE)))) {
      return null;
    }
    if (!table.partitionColumnNames().isEmpty()) {
      String columns = DataSourceUtils.encodePartitioningColumns(table.partitionColumnNames());
      options = (scala.collection.immutable.Map) options.updated(PARTITION_COLUMNS, columns);
    }
    if (create) {
      options = (scala.collection.immutable.Map) options.updated(CREATE, "true");
    }
    HashMap changes = new HashMap();
    changes.put("properties", options);
    Object storage = changed(table.storage(), changes);
    changes.clear();
    changes.put("storage", storage);
    changes.put("partitionColumnNames", (Seq) scala.collection.immutable.Nil$.MODULE$);
    return (CatalogTable) changed(table, changes);
  }

  /** A copy of a case class with some members changed; which others it has, differs between releases of Spark. */
  private static Object changed(Product product, Map changes) {
    Object[] members = new Object[product.productArity()];
    for (int i = 0; i < members.length; i++) {
      String name = product.productElementName(i);
      members[i] = changes.containsKey(name) ? changes.get(name) : product.productElement(i);
    }
    Constructor[] constructors = product.getClass().getConstructors();
    for (int i = 0; i < constructors.length; i++) {
      if (constructors[i].getParameterTypes().length == members.length) {
        try {
          return constructors[i].newInstance(members);
        } catch (ReflectiveOperationException error) {
          throw new IllegalStateException(error);
        }
      }
    }
    throw new IllegalStateException(product.getClass().getName() + " has no constructor for all its members.");
  }
}
