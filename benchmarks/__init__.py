"""What a step, a call and a session cost, beside other harnesses: `scripts/bench`, results in docs/performance.md."""
