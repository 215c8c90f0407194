"""The demonstration: an order desk, and a tour of it."""
