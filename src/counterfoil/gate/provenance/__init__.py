"""May text that came from outside steer this call? Origins are looked up, never asked of the model."""
