"""Where models live, behind one port."""
