"""Whether a sealed search went as agreed, and the plan is what the nodes opened."""
