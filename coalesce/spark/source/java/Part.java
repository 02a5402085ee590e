package coalesce.spark;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Files of a version that are read in a way of their own, as `constants.py` tells them apart. */
final class Part {
  final Object number;
  final StructType constants; // of each file, known from its entry; with what `dead` knows it by, if it has dead rows
  final DeadRows dead; // null if there are none
  final Map filters; // under which it is known which files and dead rows there are
  final Object scan; // under which Python has the plan of these filters

  private Part(Object number, StructType constants, DeadRows dead, Map filters, Object scan) {
    this.number = number;
    this.constants = constants;
    this.dead = dead;
    this.filters = filters;
    this.scan = scan;
  }

  /**
   * One that Python's answer to "resolve" describes, with what tells the dead rows of its files, if they have some;
   * `schema` is the table's.
   */
  static Part of(Map described, List told, StructType schema, Map filters, Object scan) {
    StructType constants = PlannedFiles.columns((List) described.get("constants"), schema);
    String name = (String) described.get("number");
    if (name == null) {
      return new Part(described.get("part"), constants, null, filters, scan);
    }
    boolean placed = ((Boolean) described.get("placed")).booleanValue();
    DataType type = placed ? DataTypes.LongType : DataTypes.IntegerType;
    StructType columns = new StructType().add(name, type, true);
    if (placed) {
      columns = columns.add(DeadRows.ROW_INDEX, DataTypes.LongType, true);
    } else {
      StructType telling = PlannedFiles.columns((List) described.get("telling"), schema);
      for (int i = 0; i < telling.length(); i++) {
        columns = columns.add(telling.apply(i));
      }
    }
    DeadRows dead = DeadRows.of(columns, placed, (String) told.get(0), (String) told.get(1));
    return new Part(described.get("part"), constants.add(name, type, true), dead, filters, scan);
  }
}
