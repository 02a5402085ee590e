package coalesce.spark;

import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Seq;

/**
 * Spark's own readers of Parquet, as its scans take them along to the executors; those that were made last are used again.
 *
 * <p>For each scan Spark sends all settings of Hadoop to the executors, more than a thousand, which takes longer than the
 * rest of a small plan; and each executor has to fetch and read them. A reader is the same if all that it is made of is:
 * columns, filters, options, and every setting of the session and of Hadoop. So one that was made before does as well.
 */
final class Readers {
  private static final int SHORT = 16 * 1024; // letters of filters; a reader with more is not kept
  private static final Map KEPT = Collections.synchronizedMap(new Newest());
  private static volatile WeakReference madeIn = new WeakReference(null); // the context that sent the settings
  private static volatile Map settings = new HashMap(); // of Hadoop, as of the last scan: there are few different ones

  private Readers() {}

  static Function1 of(
      SparkSession session,
      StructType data,
      StructType partition,
      StructType required,
      Seq filters,
      scala.collection.immutable.Map options,
      Configuration configuration) {
    String text = filters.toString(); // tells -0.0 from 0.0, which are equal
    List key = null;
    if (text.length() <= SHORT) {
      forgetOthers(session.sparkContext());
      SQLConf own = ((org.apache.spark.sql.classic.SparkSession) session).sessionState().conf();
      SQLConf active = SQLConf.get();
      Object others = active == own ? null : active.getAllConfs();
      Object zone = TimeZone.getDefault(); // what a session goes by that was told none
      Object[] all = {
        data, partition, required, filters, text, options, of(configuration), own.getAllConfs(), others, zone
      };
      key = Arrays.asList(all);
    }
    Function1 reader = key == null ? null : (Function1) KEPT.get(key);
    if (reader == null) {
      // A plain ParquetFileFormat: the reader takes its format along to the executors, which lack classes of ours.
      reader =
          new ParquetFileFormat()
              .buildReaderWithPartitionValues(session, data, partition, required, filters, options, configuration);
      if (key != null) {
        KEPT.put(key, reader);
      }
    }
    return reader;
  }

  /** What was sent by a context that has been stopped is nowhere any more. */
  private static synchronized void forgetOthers(Object context) {
    if (madeIn.get() != context) {
      KEPT.clear();
      madeIn = new WeakReference(context);
    }
  }

  /** All settings, as they were set; the same object if they are the same as before. */
  private static Map of(Configuration configuration) {
    HashMap found = new HashMap();
    Iterator entries = configuration.iterator();
    while (entries.hasNext()) {
      Map.Entry entry = (Map.Entry) entries.next();
      found.put(entry.getKey(), entry.getValue());
    }
    Map last = settings;
    if (!found.equals(last)) {
      settings = found;
      last = found;
    }
    return last;
  }

  private static final class Newest extends LinkedHashMap {
    Newest() {
      super(16, 0.75f, true);
    }

    protected boolean removeEldestEntry(Map.Entry eldest) {
      return size() > 64;
    }
  }
}
