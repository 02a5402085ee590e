package coalesce.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.connector.catalog.TableChange;

/** The changes that ALTER TABLE asks for, as Python takes them. */
final class Changes {
  private Changes() {}

  static List of(TableChange[] changes) {
    ArrayList described = new ArrayList();
    for (int i = 0; i < changes.length; i++) {
      HashMap change = new HashMap();
      describe(changes[i], change);
      described.add(change);
    }
    return described;
  }

  private static void describe(TableChange change, HashMap into) {
    if (change instanceof TableChange.ColumnChange) {
      into.put("path", Arrays.asList((Object[]) ((TableChange.ColumnChange) change).fieldNames()));
    }
    if (change instanceof TableChange.AddColumn) {
      TableChange.AddColumn add = (TableChange.AddColumn) change;
      into.put("change", add.defaultValue() == null ? "add" : "default");
      into.put("type", add.dataType().json());
      into.put("nullable", Boolean.valueOf(add.isNullable()));
      into.put("comment", add.comment());
      place(add.position(), into);
    } else if (change instanceof TableChange.RenameColumn) {
      into.put("change", "rename");
      into.put("name", ((TableChange.RenameColumn) change).newName());
    } else if (change instanceof TableChange.DeleteColumn) {
      into.put("change", "drop");
    } else if (change instanceof TableChange.UpdateColumnType) {
      into.put("change", "type");
      into.put("type", ((TableChange.UpdateColumnType) change).newDataType().json());
    } else if (change instanceof TableChange.UpdateColumnComment) {
      into.put("change", "comment");
      into.put("comment", ((TableChange.UpdateColumnComment) change).newComment());
    } else if (change instanceof TableChange.UpdateColumnPosition) {
      into.put("change", "move");
      place(((TableChange.UpdateColumnPosition) change).position(), into);
    } else if (change instanceof TableChange.UpdateColumnNullability) {
      into.put("change", "nullability");
    } else if (change instanceof TableChange.UpdateColumnDefaultValue) {
      into.put("change", "default");
    } else if (change instanceof TableChange.SetProperty) {
      into.put("change", "set");
      into.put("name", ((TableChange.SetProperty) change).property());
      into.put("value", ((TableChange.SetProperty) change).value());
    } else if (change instanceof TableChange.RemoveProperty) {
      into.put("change", "unset");
      into.put("name", ((TableChange.RemoveProperty) change).property());
    } else if (change instanceof TableChange.ClusterBy) {
      into.put("change", "clustering");
    } else {
      into.put("change", change.getClass().getSimpleName().contains("Constraint") ? "constraint" : "other");
    }
  }

  private static void place(TableChange.ColumnPosition position, HashMap into) {
    into.put("first", Boolean.valueOf(position instanceof TableChange.First));
    into.put("after", position instanceof TableChange.After ? ((TableChange.After) position).column() : null);
  }
}
