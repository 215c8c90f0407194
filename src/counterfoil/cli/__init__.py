"""The command `counterfoil`. The top layer: nothing imports it."""
