package coalesce.spark;

import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;

/**
 * The fields and functions that find runs of live rows in batches, in the code that Spark generates: see `LiveRows`. Its
 * members are their names, which are others in each query.
 */
final class LiveRuns {
  final String row; // the next one to look at in the batch
  final String until; // where the run ends that it is in
  final String advance; // finds the next run, if need be in the batches that follow; false if there is none

  private static final String HERE = "org.apache.spark.rdd.InputFileBlockHolder";

  LiveRuns(CodegenContext context, DeadPlaces dead, int number, String assigned, Broadcast configuration) {
    row = LiveRows.field(context, "int", "row", "");
    until = LiveRows.field(context, "int", "until", "");
    String input = LiveRows.field(context, "scala.collection.Iterator", "input", "inputs[0]");
    String rows = LiveRows.field(context, "int", "rows", ""); // of the batch
    String file = LiveRows.field(context, "long", "file", "-1L"); // what that of the piece is known by
    String start = LiveRows.field(context, "long", "start", "-1L"); // where the piece begins, in bytes
    String path = LiveRows.field(context, "String", "path", "");
    String place = LiveRows.field(context, "long", "place", ""); // behind all rows that have come
    String end = LiveRows.field(context, "long", "end", ""); // of the piece
    String edge = LiveRows.field(context, "int", "edge", ""); // the first that is behind the row
    String edges = context.addReferenceObj("edges", dead.edges, "long[]");
    String files = context.addReferenceObj("files", dead.files, "long[]");
    String ends = context.addReferenceObj("ends", dead.ends, "long[]");
    String sizes = context.addReferenceObj("sizes", dead.sizes, "long[]");
    String settings = context.addReferenceObj("settings", configuration, Broadcast.class.getName());
    String failed =
        function(
            context, "void", "failed", "",
            "throw new IllegalStateException(\"the rows of \" + " + path + " + \" are not those that its entry or its"
                + " footer has: which of them were removed cannot be told.\");\n");
    String footer =
        function(
            context, "void", "footer", "long length, long limit",
            "org.apache.hadoop.fs.Path path = org.apache.spark.paths.SparkPath.fromUrlString(" + path + ").toPath();\n"
                + "org.apache.hadoop.conf.Configuration settings =\n"
                + "  ((org.apache.spark.util.SerializableConfiguration) " + settings + ".value()).value();\n"
                + "org.apache.parquet.hadoop.ParquetFileReader reader =\n"
                + "  org.apache.parquet.hadoop.ParquetFileReader.open(\n"
                + "    org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, settings),\n"
                + "    org.apache.parquet.HadoopReadOptions.builder(settings, path)\n"
                + "      .withRange(" + start + ", " + start + " + length).build());\n"
                + "try {\n"
                + "  long before = ((org.apache.parquet.hadoop.metadata.BlockMetaData) reader.getRowGroups().get(0))\n"
                + "    .getRowIndexOffset();\n"
                + "  " + place + " = " + file + " + before;\n"
                + "  " + end + " = " + place + " + reader.getRecordCount();\n"
                + "  if (before < 0L || " + end + " > limit) " + failed + "();\n"
                + "} finally {\n"
                + "  reader.close();\n"
                + "}\n");
    String begin =
        function(
            context, "void", "begin", "boolean goesOn",
            "long first = " + HERE + ".getStartOffset();\n"
                + "long length = " + HERE + ".getLength();\n"
                + "String here = " + HERE + ".getInputFilePath().toString();\n"
                + "if (goesOn && (first == " + start + " || !here.equals(" + path + "))) " + failed + "();\n"
                + start + " = first;\n"
                + path + " = here;\n"
                + "int known = java.util.Arrays.binarySearch(" + files + ", " + file + ");\n"
                + "if (known < 0) " + failed + "();\n"
                + "if (" + start + " == 0L && length == " + sizes + "[known]) {\n"
                + "  " + place + " = " + file + ";\n"
                + "  " + end + " = " + ends + "[known];\n"
                + "} else {\n"
                + "  " + footer + "(length, " + ends + "[known]);\n"
                + "}\n"
                + "int found = java.util.Arrays.binarySearch(" + edges + ", " + place + ");\n"
                + edge + " = found < 0 ? -1 - found : found;\n");
    String take =
        function(
            context, "void", "take", "org.apache.spark.sql.vectorized.ColumnarBatch batch",
            "long number = batch.column(" + number + ").getLong(0);\n"
                + "boolean goesOn = number == " + file + ";\n"
                + "if (!goesOn || " + place + " == " + end + ") {\n"
                + "  if (" + place + " != " + end + ") " + failed + "();\n"
                + "  " + file + " = number;\n"
                + "  " + begin + "(goesOn);\n"
                + "}\n"
                + row + " = 0;\n"
                + rows + " = batch.numRows();\n"
                + place + " += " + rows + ";\n"
                + "if (" + place + " > " + end + ") " + failed + "();\n"
                + assigned);
    advance =
        function(
            context, "boolean", "advance", "",
            "long[] edges = " + edges + ";\n"
                + "while (true) {\n"
                + "  while (" + row + " >= " + rows + ") {\n"
                + "    if (!" + input + ".hasNext()) {\n"
                + "      if (" + place + " != " + end + ") " + failed + "();\n"
                + "      return false;\n"
                + "    }\n"
                + "    " + take + "((org.apache.spark.sql.vectorized.ColumnarBatch) " + input + ".next());\n"
                + "  }\n"
                + "  long here = " + place + " - " + rows + " + " + row + ";\n"
                + "  while (" + edge + " < edges.length && edges[" + edge + "] <= here) " + edge + "++;\n"
                + "  long stop = " + edge + " < edges.length ? Math.min(edges[" + edge + "], " + place + ") : " + place + ";\n"
                + "  " + until + " = " + row + " + (int) (stop - here);\n"
                + "  if ((" + edge + " & 1) == 0) return true;\n"
                + "  " + row + " = " + until + ";\n"
                + "}\n");
  }

  private static String function(CodegenContext context, String type, String name, String parameters, String body) {
    String own = context.freshName(name);
    String code = "private " + type + " " + own + "(" + parameters + ") throws java.io.IOException {\n" + body + "}\n";
    return context.addNewFunction(own, code, false);
  }
}
