"""How long a plan takes: a million files warm and cold, how that grows, and delta-rs and PyIceberg on the same data."""
