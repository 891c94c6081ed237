"""Series on a participant's own machine: reviewed and signed once, then followed by itself."""
