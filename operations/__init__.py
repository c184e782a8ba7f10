"""What an operator or analyst does, on a laptop or in any stage."""
