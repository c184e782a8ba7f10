"""What runs in the parser's process."""
