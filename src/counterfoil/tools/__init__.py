"""What can be called: tools, their schemas, and the catalogue that a model is shown."""
