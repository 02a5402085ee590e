package coalesce.spark;

import java.util.ArrayList;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.jdk.javaapi.CollectionConverters;

/** What a session is given besides the source itself. A session that was not attached gets it at its first read. */
public final class Session {
  private Session() {}

  /** Add our rules to the session's optimizer and see to its cache of relations; harmless if that was done before. */
  public static synchronized void prepare(SparkSession session) {
    ExperimentalMethods experimental = ((org.apache.spark.sql.classic.SparkSession) session).experimental();
    ArrayList rules = new ArrayList(CollectionConverters.asJava(experimental.extraOptimizations()));
    int before = rules.size();
    addOnce(rules, new PruneFiles());
    addOnce(rules, new CreateTables());
    if (rules.size() > before) {
      experimental.extraOptimizations_$eq(CollectionConverters.asScala(rules).toSeq());
    }
    RelationCache.install(session);
  }

  private static void addOnce(ArrayList rules, Rule rule) {
    for (int i = 0; i < rules.size(); i++) {
      if (rules.get(i).getClass() == rule.getClass()) {
        return;
      }
    }
    rules.add(rule);
  }
}
