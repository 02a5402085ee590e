package coalesce.spark.jvm;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows of Parquet files, where the caller says which files a task reads, and what each row of a file holds besides.
 *
 * <p>Spark's own scan packs files into tasks by their size, and knows nothing of a file but its path. Its reader can do
 * more: it takes any list of files, each with values for all of its rows. Only this plan of the scan is ours, and stays
 * in the driver; what tasks are sent are Spark's own classes.
 */
public final class FileRows {
  /**
   * A logical plan of the rows.
   *
   * @param data the columns to read, as the files name them
   * @param constants the columns that `values` has, a row for each file
   * @param shown the columns of the plan: those of `data`, then those of `constants`
   * @param pieces "file start length size path" of each piece, in the order of tasks, all separated by NUL; before the
   *     pieces of a task stands how many they are
   */
  public Object plan(
      Object session, StructType data, StructType constants, StructType shown, Object values, String pieces) {
    FilePartition[] tasks = tasks((InternalRow[]) values, pieces.split("\u0000"));
    Files files = new Files((SparkSession) session, data, constants, shown, tasks);
    return DataSourceV2Relation$.MODULE$.create(files, Option.empty(), Option.empty());
  }

  private static FilePartition[] tasks(InternalRow[] values, String[] tokens) {
    scala.collection.immutable.Map nothing =
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(new HashMap()));
    ArrayList tasks = new ArrayList();
    int at = 0;
    while (at < tokens.length) {
      PartitionedFile[] files = new PartitionedFile[Integer.parseInt(tokens[at])];
      at++;
      for (int i = 0; i < files.length; i++) {
        InternalRow own = values[Integer.parseInt(tokens[at])];
        long start = Long.parseLong(tokens[at + 1]);
        long length = Long.parseLong(tokens[at + 2]);
        long size = Long.parseLong(tokens[at + 3]);
        SparkPath path = SparkPath.fromPath(new Path(tokens[at + 4]));
        files[i] = new PartitionedFile(own, path, start, length, new String[0], 0L, size, nothing);
        at += 5;
      }
      tasks.add(new FilePartition(tasks.size(), files));
    }
    return (FilePartition[]) tasks.toArray(new FilePartition[tasks.size()]);
  }

  /** The files, from the table that Spark is told they are to the tasks that read them. */
  private static final class Files implements SupportsRead, ScanBuilder, SupportsReportStatistics, Statistics, Batch {
    private final SparkSession session;
    private final StructType data;
    private final StructType constants;
    private final StructType shown;
    private final FilePartition[] tasks;

    Files(SparkSession session, StructType data, StructType constants, StructType shown, FilePartition[] tasks) {
      this.session = session;
      this.data = data;
      this.constants = constants;
      this.shown = shown;
      this.tasks = tasks;
    }

    public String name() {
      return "files of a coalesce table";
    }

    public Column[] columns() {
      StructField[] fields = shown.fields();
      Column[] columns = new Column[fields.length];
      for (int i = 0; i < fields.length; i++) {
        columns[i] = Column.create(fields[i].name(), fields[i].dataType(), true);
      }
      return columns;
    }

    public Set capabilities() {
      return EnumSet.of(TableCapability.BATCH_READ);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return this;
    }

    public Scan build() {
      return this;
    }

    public StructType readSchema() {
      return shown;
    }

    public String description() {
      return name();
    }

    public Statistics estimateStatistics() {
      return this;
    }

    public OptionalLong sizeInBytes() {
      long bytes = 0;
      for (int i = 0; i < tasks.length; i++) {
        for (int j = 0; j < tasks[i].files().length; j++) {
          bytes += tasks[i].files()[j].length();
        }
      }
      return OptionalLong.of(bytes);
    }

    public OptionalLong numRows() {
      return OptionalLong.empty();
    }

    public Batch toBatch() {
      return this;
    }

    public InputPartition[] planInputPartitions() {
      return tasks;
    }

    public PartitionReaderFactory createReaderFactory() {
      Configuration configuration = session.sessionState().newHadoopConf();
      Object[] known = {
        session, configuration, null, data, data, constants, new Filter[0], CaseInsensitiveStringMap.empty()
      };
      // What follows these differs among Spark's versions, and is only for what is pushed down.
      Constructor constructor = ParquetScan.class.getConstructors()[0];
      Class[] types = constructor.getParameterTypes();
      Object[] all = new Object[types.length];
      for (int i = 0; i < types.length; i++) {
        if (i < known.length) {
          all[i] = known[i];
        } else if (types[i] == Option.class) {
          all[i] = Option.empty();
        } else if (types[i] == Seq.class) {
          all[i] = CollectionConverters.asScala(new ArrayList()).toSeq();
        } else if (types[i].isArray()) {
          all[i] = java.lang.reflect.Array.newInstance(types[i].getComponentType(), 0);
        } else {
          throw new IllegalStateException("this version of Spark reads Parquet in an unknown way: " + constructor);
        }
      }
      try {
        return ((ParquetScan) constructor.newInstance(all)).createReaderFactory();
      } catch (ReflectiveOperationException broken) {
        throw new IllegalStateException("this version of Spark reads Parquet in an unknown way: " + constructor, broken);
      }
    }
  }
}
