"""The protocols, one per file: what it computes, who learns what, rounds and bytes."""
