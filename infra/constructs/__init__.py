"""What stacks are built of."""
