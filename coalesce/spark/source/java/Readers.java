package coalesce.spark;

import java.lang.invoke.SerializedLambda;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
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
import org.apache.spark.sql.sources.AlwaysTrue;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's own readers of Parquet, as its scans take them along to the executors; those that were made last are used again.
 *
 * <p>For each scan Spark sends all settings of Hadoop to the executors, more than a thousand, which takes longer than the
 * rest of a small plan; and each executor has to fetch and read them. A reader is the same if all that it is made of is:
 * columns, options, and every setting of the session and of Hadoop. Filters it only takes along, for row groups to be
 * skipped by. So of one that was made before, a copy that takes other filters along does as well.
 */
final class Readers {
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
    forgetOthers(session.sparkContext());
    SQLConf own = ((org.apache.spark.sql.classic.SparkSession) session).sessionState().conf();
    SQLConf active = SQLConf.get();
    Object others = active == own ? null : active.getAllConfs();
    Object zone = TimeZone.getDefault(); // what a session goes by that was told none
    Object[] all = {data, partition, required, options, of(configuration), own.getAllConfs(), others, zone};
    List key = Arrays.asList(all);
    Made made = (Made) KEPT.get(key);
    if (made == null) {
      Seq replaced = seq();
      made = new Made(made(session, data, partition, required, replaced, options, new Configuration(configuration)), replaced);
      KEPT.put(key, made);
    }
    Function1 reader = made.with(filters);
    return reader == null ? made(session, data, partition, required, filters, options, configuration) : reader;
  }

  /** By a plain ParquetFileFormat: the reader takes its format along to the executors, which lack classes of ours. */
  private static Function1 made(
      SparkSession session,
      StructType data,
      StructType partition,
      StructType required,
      Seq filters,
      scala.collection.immutable.Map options,
      Configuration configuration) {
    return new ParquetFileFormat()
        .buildReaderWithPartitionValues(session, data, partition, required, filters, options, configuration);
  }

  /** Filters that are told from all others by being this object. */
  private static Seq seq() {
    return CollectionConverters.asScala(Collections.singletonList(new AlwaysTrue())).toList();
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

  /** A reader that takes certain filters along, and what of it has to be another for others. */
  private static final class Made {
    private final SerializedLambda form; // as it goes to executors; null if its filters were not found in it
    private final Method readers;
    private final int place;

    Made(Function1 reader, Seq filters) {
      SerializedLambda found = null;
      Method makes = null;
      int at = -1;
      try {
        Method written = reader.getClass().getDeclaredMethod("writeReplace", new Class[0]);
        written.setAccessible(true);
        SerializedLambda form = (SerializedLambda) written.invoke(reader, new Object[0]);
        for (int i = 0; i < form.getCapturedArgCount(); i++) {
          if (form.getCapturedArg(i) == filters) {
            at = at == -1 ? i : -2;
          }
        }
        if (at >= 0) {
          Class owner =
              Class.forName(
                  form.getCapturingClass().replace('/', '.'), false, ParquetFileFormat.class.getClassLoader());
          makes = owner.getDeclaredMethod("$deserializeLambda$", new Class[] {SerializedLambda.class});
          makes.setAccessible(true);
          found = form;
        }
      } catch (ReflectiveOperationException other) {
        found = null; // another Spark, whose readers are made otherwise: each scan gets one of its own
      } catch (ClassCastException other) {
        found = null;
      }
      form = found;
      readers = makes;
      place = at;
    }

    /** The same reader with these filters; null if there is no telling how. */
    Function1 with(Seq filters) {
      if (form == null) {
        return null;
      }
      Object[] captured = new Object[form.getCapturedArgCount()];
      for (int i = 0; i < captured.length; i++) {
        captured[i] = i == place ? filters : form.getCapturedArg(i);
      }
      try {
        Object other =
            new SerializedLambda(
                ParquetFileFormat.class,
                form.getFunctionalInterfaceClass(),
                form.getFunctionalInterfaceMethodName(),
                form.getFunctionalInterfaceMethodSignature(),
                form.getImplMethodKind(),
                form.getImplClass(),
                form.getImplMethodName(),
                form.getImplMethodSignature(),
                form.getInstantiatedMethodType(),
                captured);
        return (Function1) readers.invoke(null, new Object[] {other});
      } catch (ReflectiveOperationException other) {
        return null;
      }
    }
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
