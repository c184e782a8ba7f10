"""How the lanes are doing: throughput, backlog, delays."""
