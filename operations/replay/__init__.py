"""Landing stored messages again."""
