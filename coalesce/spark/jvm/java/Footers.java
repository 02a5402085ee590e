package coalesce.spark.jvm;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.statistics.DoubleStatistics;
import org.apache.parquet.column.statistics.FloatStatistics;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.Footer;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;
import org.apache.parquet.schema.Types;

/**
 * The footers of all Parquet files below a directory, in one string of texts that end with a NUL.
 *
 * <p>Of each file: path, length, rows, number of columns; then of each top-level column: name, length, NULLs (-1:
 * unknown), and both bounds in hexadecimal digits (-: none).
 */
public final class Footers {
  private static final char END = (char) 0;

  /** All footers; none if the directory is not there. */
  public String read(Path root, Configuration configuration) throws IOException {
    ArrayList files = parquetFiles(root.getFileSystem(configuration), root);
    boolean nanIsGreatest = nanIsGreatest();
    StringBuilder out = new StringBuilder();
    Iterator footers = ParquetFileReader.readAllFootersInParallel(configuration, files, false).iterator();
    for (int i = 0; footers.hasNext(); i++) {
      Footer footer = (Footer) footers.next();
      FileStatus status = (FileStatus) files.get(i);
      if (!status.getPath().equals(footer.getFile())) {
        throw new IllegalStateException("footers out of order");
      }
      out.append(status.getPath().toString()).append(END).append(status.getLen()).append(END);
      add(out, footer.getParquetMetadata().getBlocks(), nanIsGreatest);
    }
    return out.toString();
  }

  private static ArrayList parquetFiles(FileSystem fs, Path root) throws IOException {
    ArrayList files = new ArrayList();
    ArrayDeque directories = new ArrayDeque();
    if (fs.exists(root)) {
      directories.push(root);
    }
    while (!directories.isEmpty()) {
      FileStatus[] entries = fs.listStatus((Path) directories.pop());
      for (int i = 0; i < entries.length; i++) {
        String name = entries[i].getPath().getName();
        if (entries[i].isDirectory()) {
          if (!name.equals("_temporary")) {
            directories.push(entries[i].getPath());
          }
        } else if (name.endsWith(".parquet")) {
          files.add(entries[i]);
        }
      }
    }
    return files;
  }

  /** Whether this library counts NaN as the greatest value when it writes bounds. */
  private static boolean nanIsGreatest() {
    Type doubles = (Type) Types.required(PrimitiveType.PrimitiveTypeName.DOUBLE).named("probe");
    DoubleStatistics probe = (DoubleStatistics) Statistics.createStats(doubles);
    probe.updateStats(Double.NaN);
    probe.updateStats(1.0);
    return Double.isNaN(probe.getMax());
  }

  private static void add(StringBuilder out, List blocks, boolean nanIsGreatest) {
    LinkedHashMap merged = new LinkedHashMap();
    HashMap sizes = new HashMap();
    HashSet unbounded = new HashSet();
    long rows = 0;
    for (int b = 0; b < blocks.size(); b++) {
      BlockMetaData block = (BlockMetaData) blocks.get(b);
      rows += block.getRowCount();
      List chunks = block.getColumns();
      for (int c = 0; c < chunks.size(); c++) {
        ColumnChunkMetaData chunk = (ColumnChunkMetaData) chunks.get(c);
        String[] path = chunk.getPath().toArray();
        if (path.length != 1) {
          continue;
        }
        Long before = (Long) sizes.get(path[0]);
        sizes.put(path[0], Long.valueOf((before == null ? 0L : before.longValue()) + chunk.getTotalSize()));
        Statistics found = chunk.getStatistics();
        if (!isWhole(found, chunk)) {
          unbounded.add(path[0]);
        }
        if (found == null) {
          continue;
        }
        if (merged.containsKey(path[0])) {
          ((Statistics) merged.get(path[0])).mergeStatistics(found);
        } else {
          merged.put(path[0], found.copy());
        }
      }
    }
    out.append(rows).append(END).append(merged.size()).append(END);
    Iterator columns = merged.entrySet().iterator();
    while (columns.hasNext()) {
      Map.Entry column = (Map.Entry) columns.next();
      Statistics s = (Statistics) column.getValue();
      boolean floating = s instanceof DoubleStatistics || s instanceof FloatStatistics;
      boolean bounded = !unbounded.contains(column.getKey()) && s.hasNonNullValue() && (nanIsGreatest || !floating);
      out.append(column.getKey()).append(END).append(sizes.get(column.getKey())).append(END);
      out.append(s.isNumNullsSet() ? s.getNumNulls() : -1).append(END);
      out.append(bounded ? HexFormat.of().formatHex(s.getMinBytes()) : "-").append(END);
      out.append(bounded ? HexFormat.of().formatHex(s.getMaxBytes()) : "-").append(END);
    }
  }

  /** Whether the statistics of a chunk speak for all of its values. */
  private static boolean isWhole(Statistics found, ColumnChunkMetaData chunk) {
    return found != null
        && found.isNumNullsSet()
        && (found.hasNonNullValue() || found.getNumNulls() == chunk.getValueCount());
  }
}
