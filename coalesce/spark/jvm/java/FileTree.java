package coalesce.spark.jvm;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayDeque;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/** The files below a directory, in one string: path, length and time of each, each ended by a NUL, which no path has. */
public final class FileTree {
  /**
   * What lies below `start`, as seen from `root`. A `flat` store (S3A) lists a tree by key in few requests. Elsewhere the
   * tree is walked: on a local disk `listFiles` would start a process for each file to learn its owner.
   */
  public String list(FileSystem fs, Path root, Path start, boolean flat) throws IOException {
    String base = root.toUri().getPath();
    int skip = base.endsWith("/") ? base.length() : base.length() + 1;
    StringBuilder found = new StringBuilder();
    if (flat) {
      RemoteIterator files = fs.listFiles(start, true);
      while (files.hasNext()) {
        add(found, (FileStatus) files.next(), skip);
      }
      return found.toString();
    }
    ArrayDeque directories = new ArrayDeque();
    directories.push(start);
    while (!directories.isEmpty()) {
      FileStatus[] entries;
      try {
        entries = fs.listStatus((Path) directories.pop());
      } catch (FileNotFoundException vanished) {
        continue;
      }
      for (int i = 0; i < entries.length; i++) {
        if (entries[i].isDirectory()) {
          directories.push(entries[i].getPath());
        } else {
          add(found, entries[i], skip);
        }
      }
    }
    return found.toString();
  }

  /** Those of some files that are there; their names, as seen from `root`, are separated by NUL. */
  public String present(FileSystem fs, Path root, String names) throws IOException {
    String base = root.toUri().getPath();
    int skip = base.endsWith("/") ? base.length() : base.length() + 1;
    StringBuilder found = new StringBuilder();
    String[] wanted = names.split(String.valueOf((char) 0));
    for (int i = 0; i < wanted.length; i++) {
      try {
        FileStatus status = fs.getFileStatus(new Path(root.toString() + "/" + wanted[i]));
        if (status.isFile()) {
          add(found, status, skip);
        }
      } catch (FileNotFoundException absent) {
        continue;
      }
    }
    return found.toString();
  }

  private static void add(StringBuilder found, FileStatus file, int skip) {
    char end = (char) 0;
    found.append(file.getPath().toUri().getPath().substring(skip)).append(end);
    found.append(file.getLen()).append(end).append(file.getModificationTime()).append(end);
  }
}
