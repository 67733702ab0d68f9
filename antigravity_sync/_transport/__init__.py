"""Getting to a harness: its binary, its process, the handshake, and the links to it."""
