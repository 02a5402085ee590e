package coalesce.spark.jvm;

import org.apache.hadoop.fs.Path;

/** Paths as `_metadata.file_path` shows them, all in one call; a NUL stands between two of them, here and in the answer. */
public final class ShownPaths {
  /** The same paths, as URIs. */
  public String encode(String joined) {
    String[] paths = joined.split("\u0000");
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < paths.length; i++) {
      if (i > 0) {
        out.append((char) 0);
      }
      out.append(new Path(paths[i]).toUri().toString());
    }
    return out.toString();
  }
}
