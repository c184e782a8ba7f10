"""Who reported what, and when: one small record for each message that landed."""
