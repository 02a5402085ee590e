package coalesce.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** CALL lake.system.compact(…): a method of a table, in Python. */
public class TableProcedure implements UnboundProcedure, BoundProcedure {
  private final Warehouse catalog;
  private final String name;
  private final Map described;
  private final String known;

  /** A procedure; `described` is null if there is none of that name among those that are `known`. */
  TableProcedure(Warehouse catalog, String name, Map described, String known) {
    this.catalog = catalog;
    this.name = name;
    this.described = described;
    this.known = known;
  }

  public String name() {
    return name;
  }

  public String description() {
    return described == null ? null : (String) described.get("description");
  }

  /** Each has one signature, and Spark casts to it. Why one cannot be loaded Spark keeps to itself: so it is said here. */
  public BoundProcedure bind(StructType input) {
    if (described == null) {
      throw new IllegalArgumentException(
          "there is no procedure " + name + "; CALL " + catalog.name() + ".system has " + known + ".");
    }
    return this;
  }

  public boolean isDeterministic() {
    return false;
  }

  public ProcedureParameter[] parameters() {
    List all = (List) described.get("parameters");
    ProcedureParameter[] parameters = new ProcedureParameter[all.size()];
    for (int i = 0; i < parameters.length; i++) {
      Map parameter = (Map) all.get(i);
      ProcedureParameter.Builder builder = ProcedureParameter.in((String) parameter.get("name"), type(parameter));
      if (parameter.get("default") != null) {
        builder = builder.defaultValue((String) parameter.get("default"));
      }
      parameters[i] = builder.build();
    }
    return parameters;
  }

  public Iterator call(InternalRow input) {
    List all = (List) described.get("parameters");
    HashMap arguments = new HashMap();
    for (int i = 0; i < all.size(); i++) {
      DataType type = type((Map) all.get(i));
      Object value = input.isNullAt(i) ? null : CatalystTypeConverters.convertToScala(input.get(i, type), type);
      arguments.put(((Map) all.get(i)).get("name"), plain(value));
    }
    Map question = catalog.question("call", new ArrayList());
    question.put("call", "procedure");
    question.put("procedure", name);
    question.put("arguments", arguments);
    return Collections.singleton(new Said(Rows.answering(question))).iterator();
  }

  private static DataType type(Map parameter) {
    return DataType.fromDDL((String) parameter.get("type"));
  }

  /** A value as JSON takes it. */
  private static Object plain(Object value) {
    if (value instanceof scala.collection.Seq) {
      return CollectionConverters.asJava((scala.collection.Seq) value);
    }
    return value instanceof scala.collection.Map
        ? CollectionConverters.asJava((scala.collection.Map) value)
        : value;
  }

  /** What a procedure says that it has done. */
  private static final class Said implements LocalScan {
    private final Rows rows;

    Said(Rows rows) {
      this.rows = rows;
    }

    public StructType readSchema() {
      return rows.schema();
    }

    public InternalRow[] rows() {
      return rows.rows();
    }
  }
}
