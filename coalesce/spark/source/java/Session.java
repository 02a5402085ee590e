package coalesce.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;

/**
 * What a session is given besides the source itself.
 *
 * <p>Every session of the driver gets it, not only those that were attached: those made later when their optimizer is
 * built, those made earlier as soon as they look for a source of whatever name, or read a table.
 */
public final class Session {
  private static final Map PREPARED = Collections.synchronizedMap(new WeakHashMap());
  private static final Map EXTENDED = Collections.synchronizedMap(new WeakHashMap());

  private Session() {}

  /** Add our rules to the session's optimizer and see to its catalog; harmless if that was done before. */
  public static synchronized void prepare(SparkSession session) {
    PREPARED.put(session, Boolean.TRUE);
    org.apache.spark.sql.classic.SparkSession classic = (org.apache.spark.sql.classic.SparkSession) session;
    ExperimentalMethods experimental = classic.experimental();
    ArrayList rules = new ArrayList(CollectionConverters.asJava(experimental.extraOptimizations()));
    int before = rules.size();
    addOnce(rules, new RowStatements());
    addOnce(rules, new MetadataCounts());
    addOnce(rules, new PruneFiles());
    addOnce(rules, new CreateTables());
    addOnce(rules, new TableCommands());
    addOnce(rules, new PlainWrites());
    if (rules.size() > before) {
      experimental.extraOptimizations_$eq(CollectionConverters.asScala(rules).toSeq());
    }
    ArrayList strategies = new ArrayList(CollectionConverters.asJava(experimental.extraStrategies()));
    if (addOnce(strategies, new LiveScans())) {
      experimental.extraStrategies_$eq(CollectionConverters.asScala(strategies).toSeq());
    }
    RelationCache.install(session);
    Catalog.install(session);
    Parser.install(session);
    WarehouseCommands.install(session);
    if (EXTENDED.put(classic.extensions(), Boolean.TRUE) == null) {
      classic.extensions().injectOptimizerRule(new Later());
      classic.extensions().injectParser(new LaterParser());
      classic.extensions().injectHintResolutionRule(new LaterRule(new PathTables()));
      classic.extensions().injectHintResolutionRule(new LaterRule(new InsertTargets()));
      classic.extensions().injectResolutionRule(new LaterRule(new WarehouseNames()));
      classic.extensions().injectPostHocResolutionRule(new LaterRule(new WarehouseCommands()));
    }
  }

  /** The session that is at work on this thread, if there is one. */
  static void prepareActive() {
    Option active = SparkSession.getActiveSession();
    if (active.isDefined() && !PREPARED.containsKey(active.get())) {
      prepare((SparkSession) active.get());
    }
  }

  /** What to say if a session should have our rules and has not. */
  static RuntimeException unprepared(String what) {
    return new IllegalArgumentException(
        what + ", as this session does not know coalesce: call coalesce.attach(session) with it first.");
  }

  private static boolean addOnce(ArrayList rules, Object rule) {
    for (int i = 0; i < rules.size(); i++) {
      if (rules.get(i).getClass() == rule.getClass()) {
        return false;
      }
    }
    return rules.add(rule);
  }

  /** What `newSession` and clones hand on: an optimizer asks for a rule before each query, and gets all of them. */
  private static final class Later extends AbstractFunction1 {
    public Object apply(Object session) {
      prepare((SparkSession) session);
      return new Nothing();
    }
  }

  /** And a parser, which is there before the first query. */
  private static final class LaterParser extends AbstractFunction2 {
    public Object apply(Object session, Object parser) {
      return Parser.over(parser);
    }
  }

  /** And an analyzer: one of its rules. */
  private static final class LaterRule extends AbstractFunction1 {
    private final Rule rule;

    LaterRule(Rule rule) {
      this.rule = rule;
    }

    public Object apply(Object session) {
      return rule;
    }
  }

  /** A rule that does nothing. */
  private static final class Nothing extends Rule {
    public TreeNode apply(TreeNode plan) {
      return plan;
    }
  }
}
