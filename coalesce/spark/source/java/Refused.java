package coalesce.spark;

import org.apache.spark.SparkThrowable;

/** A refusal that Spark hands on as it is: others it wraps, in places, in an error that is shown with a stack trace. */
public class Refused extends IllegalArgumentException implements SparkThrowable {
  Refused(String sentence) {
    super(sentence);
  }

  public String getCondition() {
    return null;
  }
}
