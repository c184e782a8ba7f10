"""The lake's tables and views as plain data."""
