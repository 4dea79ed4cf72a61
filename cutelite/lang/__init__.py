"""What kernel authors import: annotations, run-time values and intrinsics. Each of them becomes ops."""
