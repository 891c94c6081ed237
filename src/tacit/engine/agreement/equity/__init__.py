"""Long-term equity in agreements: the rule, the reference plan, and what is told to whom."""
