"""The protocols, a family per module: what is computed, who learns what, rounds, bytes, paper.

Bytes are those of payloads, per node that sends most and per entry of 8 bytes, with three and with
four nodes; `cost` functions give them exactly, with hashes and frame headers.
"""
