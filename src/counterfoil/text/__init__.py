"""Tool calls written as text: families as data, the grammar of a catalogue, and a reader of what was decoded."""
