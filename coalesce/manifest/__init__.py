"""The model as sidecar bytes, and back."""
