"""From staged changes to the next version: the log, transactions, conflicts, manifests."""
