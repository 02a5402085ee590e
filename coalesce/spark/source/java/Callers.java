package coalesce.spark;

import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;

/** Who is asking. Spark calls some things for several reasons and says the reason nowhere else than on the stack. */
final class Callers implements Function {
  private final String begins;

  private Callers(String begins) {
    this.begins = begins;
  }

  /** Whether a class whose name begins so, inner ones included, stands among the callers. */
  static boolean include(String begins) {
    return ((Boolean) StackWalker.getInstance().walk(new Callers(begins))).booleanValue();
  }

  public Object apply(Object frames) {
    Iterator callers = ((Stream) frames).iterator();
    while (callers.hasNext()) {
      if (((StackWalker.StackFrame) callers.next()).getClassName().startsWith(begins)) {
        return Boolean.TRUE;
      }
    }
    return Boolean.FALSE;
  }
}
