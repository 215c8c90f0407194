"""What the embedded model needs: one way to write a call, its grammar for constrained decoding, and its reader."""
