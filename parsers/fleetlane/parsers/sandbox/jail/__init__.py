"""What a parser's process cannot do, whatever its code is: the kernel refuses it."""
