"""The study of long-term equity: spread against total cost, incentives, and what plans tell."""
