"""Who may call what, how often, on whose word. Checks are functions; the gate is their order."""
