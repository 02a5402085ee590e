package coalesce.spark;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Keeps a session from remembering the relation of a coalesce table by the table's name.
 *
 * <p>Spark resolves a table of the catalog once and takes the same relation, with its columns, for every later query
 * until REFRESH TABLE. A CoalesceRelation is one version; left out of that cache, each query resolves the table anew and
 * sees the newest version, also of another writer. All other tables are cached as before.
 *
 * <p>There is no setting for that by source, so the session's cache is put behind a proxy. Where a later Spark does not
 * let us, commits are seen after REFRESH TABLE.
 */
final class RelationCache implements InvocationHandler {
  private final Object cache;

  private RelationCache(Object cache) {
    this.cache = cache;
  }

  /** Put the proxy in front of a session's cache, once. */
  static synchronized void install(SparkSession session) {
    SessionCatalog catalog = ((org.apache.spark.sql.classic.SparkSession) session).sessionState().catalog();
    try {
      Field field = SessionCatalog.class.getDeclaredField("tableRelationCache");
      field.setAccessible(true);
      Object cache = field.get(catalog);
      if (!Proxy.isProxyClass(cache.getClass())) {
        Class[] kind = new Class[] {field.getType()};
        field.set(catalog, Proxy.newProxyInstance(field.getType().getClassLoader(), kind, new RelationCache(cache)));
      }
    } catch (ReflectiveOperationException changed) {
      return;
    } catch (RuntimeException forbidden) {
      return;
    }
  }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (method.getName().equals("put") && isOurs(arguments[1])) {
      return null;
    }
    try {
      return method.invoke(cache, arguments);
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  private static boolean isOurs(Object plan) {
    return plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof CoalesceRelation;
  }
}
