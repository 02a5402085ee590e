package coalesce.spark;

import java.util.HashMap;
import java.util.HashSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;

/**
 * When files were written, as the file system has it: no entry says. Directories are listed for it, so only queries pay
 * that have the column `_metadata`.
 */
final class Modified {
  private final Configuration configuration =
      ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().newHadoopConf();
  private final HashSet listed = new HashSet();
  private final HashMap times = new HashMap();

  long at(Path path) {
    if (listed.add(path.getParent())) {
      try {
        FileStatus[] found = path.getFileSystem(configuration).listStatus(path.getParent());
        for (int i = 0; i < found.length; i++) {
          times.put(new Path(path.getParent(), found[i].getPath().getName()), Long.valueOf(found[i].getModificationTime()));
        }
      } catch (java.io.IOException missing) {
        return 0L; // reading the file will say what is wrong
      }
    }
    Long time = (Long) times.get(path);
    return time == null ? 0L : time.longValue();
  }
}
