"""The gate's own checks, one file each, in the order in which the gate asks them."""
