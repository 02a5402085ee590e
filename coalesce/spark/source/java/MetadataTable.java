package coalesce.spark;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What the metadata of a table says at one version, as rows that are in the driver already. */
public class MetadataTable implements SupportsRead, ScanBuilder, LocalScan {
  private final String name;
  private final Map described;
  private final StructType schema;

  MetadataTable(String name, Map described) {
    this.name = name;
    this.described = described;
    this.schema = (StructType) DataType.fromJson((String) described.get("schema"));
  }

  public InternalRow[] rows() {
    Map question = Bridge.question("metadata");
    question.put("table", described.get("location"));
    question.put("version", described.get("at"));
    question.put("metadata", described.get("metadata"));
    return Rows.answering(question).rows();
  }

  public String description() {
    return "coalesce " + described.get("metadata") + " of version " + described.get("at");
  }

  public Set capabilities() {
    return Collections.singleton(TableCapability.BATCH_READ);
  }

  public String name() {
    return name;
  }

  public StructType schema() {
    return schema;
  }

  public StructType readSchema() {
    return schema();
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return this;
  }

  public Scan build() {
    return this;
  }
}
