"""Protocol Buffers: messages of one type, described by a descriptor set."""
