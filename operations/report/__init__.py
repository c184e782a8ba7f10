"""The fleet report: one self-contained HTML page. Its tables are also the command line's."""
