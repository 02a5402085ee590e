"""Into the driver's JVM: Catalyst, Hadoop, and values on their way there and back."""
