package coalesce.spark;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Keeps Spark from writing plain files over a table: df.write.parquet(path), INSERT OVERWRITE DIRECTORY.
 *
 * <p>A table is a directory with `_coalesce` in it. Refused is what would be written at one or inside one, and an
 * overwrite, which begins by deleting, of a directory with a table directly in it. Deeper down is not looked: it would
 * take a listing of the whole tree.
 */
public class PlainWrites extends Rule {
  private static final String METADATA = "_coalesce";

  /** The option by which our own writer says that it is the one. */
  private static final String WRITER = "coalesce.writer";

  public TreeNode apply(TreeNode plan) {
    if (plan instanceof InsertIntoHadoopFsRelationCommand) {
      InsertIntoHadoopFsRelationCommand command = (InsertIntoHadoopFsRelationCommand) plan;
      if (!command.options().contains(WRITER)) {
        check(command.outputPath(), command.mode() == SaveMode.Overwrite);
      }
    } else if (plan.getClass().getName().equals("org.apache.spark.sql.hive.execution.InsertIntoHiveDirCommand")) {
      CatalogStorageFormat storage = (CatalogStorageFormat) ((Product) plan).productElement(1); // Hive may be missing
      check(new Path((java.net.URI) storage.locationUri().get()), true);
    }
    return plan;
  }

  private static void check(Path target, boolean overwrite) {
    try {
      FileSystem files = target.getFileSystem(configuration());
      for (Path place = files.makeQualified(target); place != null; place = place.getParent()) {
        if (isTable(files, place)) {
          throw refused("plain files cannot be written to " + target, place);
        }
      }
      if (overwrite) {
        Path found = tableIn(files, target, new HashSet());
        if (found != null) {
          throw refused("overwriting " + target + " would delete what is in it", found);
        }
      }
    } catch (IOException unreachable) {
      return; // the write itself will say so
    }
  }

  private static RuntimeException refused(String what, Path table) {
    return new UnsupportedOperationException(
        what + ": there is a coalesce table at " + table + ". Write to it with format(\"coalesce\"), or delete its"
            + " directory first if it is not needed any more.");
  }

  /** A database's directory goes with it: refuse if that has a table in it that is not the database's to delete. */
  static void refuseDrop(ExternalCatalog catalog, String db, boolean cascade) {
    HashSet managed = new HashSet();
    try {
      Path directory = new Path(catalog.getDatabase(db).locationUri());
      FileSystem files = directory.getFileSystem(configuration());
      List tables = CollectionConverters.asJava(catalog.listTables(db));
      for (int i = 0; cascade && i < tables.size(); i++) {
        CatalogTable table = catalog.getTable(db, (String) tables.get(i));
        if (table.tableType().equals(CatalogTableType.MANAGED()) && table.storage().locationUri().isDefined()) {
          managed.add(files.makeQualified(new Path(table.location())));
        }
      }
      Path found = tableIn(files, directory, managed);
      if (found != null) {
        throw new UnsupportedOperationException(
            "DROP DATABASE " + db + " would delete the directory " + directory + ", and the coalesce table at " + found
                + " is not one that belongs to the database: move it elsewhere, or delete its directory, first.");
      }
    } catch (IOException unreachable) {
      return;
    }
  }

  /** A table directly in a directory, other than those; null if there is none. */
  private static Path tableIn(FileSystem files, Path directory, HashSet others) throws IOException {
    if (!files.exists(directory)) {
      return null;
    }
    FileStatus[] inside = files.listStatus(directory);
    for (int i = 0; i < inside.length; i++) {
      Path place = files.makeQualified(inside[i].getPath());
      if (inside[i].isDirectory() && !others.contains(place) && isTable(files, place)) {
        return place;
      }
    }
    return null;
  }

  /** Whether a coalesce table lies at a location, as far as can be seen. */
  static boolean isTable(String location) {
    try {
      Path place = new Path(location);
      return isTable(place.getFileSystem(configuration()), place);
    } catch (IOException unreachable) {
      return false;
    }
  }

  private static boolean isTable(FileSystem files, Path place) throws IOException {
    return files.exists(new Path(place, METADATA));
  }

  private static Configuration configuration() {
    return ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().newHadoopConf();
  }
}
