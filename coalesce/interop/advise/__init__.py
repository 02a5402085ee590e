"""What coalescing would bring, said from metadata alone before anything is written."""
