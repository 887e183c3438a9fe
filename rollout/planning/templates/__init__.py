"""What does an AddOnTemplate put on a cluster? Rendering, the works that carry it, and its health."""
