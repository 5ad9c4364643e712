"""Every request, and what happens to its answer: the cells of `pulsar/outcomes/requests`, as Cases."""
