"""A lane in real time: workers that write what they parsed themselves, and what watches them."""
