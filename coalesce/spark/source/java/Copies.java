package coalesce.spark;

import java.lang.reflect.Constructor;
import java.util.Map;
import scala.Product;

/** Copies of Spark's case classes, and new ones. Which members they have, differs between releases. */
final class Copies {
  private Copies() {}

  /** A copy with some members changed, by name. */
  static Object changed(Product product, Map changes) {
    Object[] members = new Object[product.productArity()];
    for (int i = 0; i < members.length; i++) {
      String name = product.productElementName(i);
      members[i] = changes.containsKey(name) ? changes.get(name) : product.productElement(i);
    }
    Constructor[] constructors = product.getClass().getConstructors();
    for (int i = 0; i < constructors.length; i++) {
      if (constructors[i].getParameterTypes().length == members.length) {
        try {
          return constructors[i].newInstance(members);
        } catch (ReflectiveOperationException error) {
          throw new IllegalStateException(error);
        }
      }
    }
    throw new IllegalStateException(product.getClass().getName() + " has no constructor for all its members.");
  }

  /** A new one: of its members the first ones are given, and the others are what the class says unless they are. */
  static Object made(Class kind, Object[] first) {
    try {
      Class companion = Class.forName(kind.getName() + "$", true, kind.getClassLoader());
      Object module = companion.getField("MODULE$").get(null);
      Constructor constructor = kind.getConstructors()[0];
      Object[] members = new Object[constructor.getParameterTypes().length];
      for (int i = 0; i < members.length; i++) {
        members[i] =
            i < first.length
                ? first[i]
                : companion.getMethod("apply$default$" + (i + 1), new Class[0]).invoke(module, new Object[0]);
      }
      return constructor.newInstance(members);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }
}
