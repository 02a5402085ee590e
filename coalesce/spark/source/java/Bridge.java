package coalesce.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Java asks, Python answers: one call for each question, a string there and a string back.
 *
 * <p>Python sees tables, versions and predicates; Java sees Spark. A question is a JSON object with a "call"; an answer
 * begins with '+', or with '-' and the text of an error.
 *
 * <p>These classes are compiled in the driver by Janino, which knows no lambdas and forgets type arguments: hence raw
 * types and casts. Executors never see them.
 */
public final class Bridge {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static volatile BiFunction python;

  private Bridge() {}

  /** Python's end. A driver JVM has one Python; after a stop and a new start it connects again. */
  public static void connect(BiFunction answers) {
    python = answers;
  }

  /** A question, with the zone that a time in the options has if it names none. */
  static Map question(String call) {
    HashMap question = new HashMap();
    question.put("call", call);
    question.put("timeZone", SQLConf.get().sessionLocalTimeZone());
    return question;
  }

  /** The answer to a question; `with` is an object of Spark's that the question is about, or null. */
  static String ask(Map question, Object with) {
    BiFunction there = python;
    if (there == null) {
      throw new IllegalStateException("no Python is connected: call coalesce.attach(spark) first.");
    }
    String answer = (String) there.apply(write(question), with);
    if (answer.length() > 0 && answer.charAt(0) == '+') {
      return answer.substring(1);
    }
    throw new IllegalArgumentException(answer.substring(Math.min(1, answer.length())));
  }

  static String write(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (java.io.IOException error) {
      throw new IllegalStateException(error);
    }
  }

  static Map read(String text) {
    try {
      return (Map) JSON.readValue(text, Map.class);
    } catch (java.io.IOException error) {
      throw new IllegalStateException(error);
    }
  }
}
