"""Every provider's JSON format, by name. A wire is pure: bodies in, values out, and back."""
