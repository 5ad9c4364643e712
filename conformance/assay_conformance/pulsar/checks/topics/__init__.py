"""Topics: changes of the owning broker or of the number of partitions, and what must not be lost by them."""
