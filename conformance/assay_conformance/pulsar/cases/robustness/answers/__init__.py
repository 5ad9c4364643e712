"""Every request, and what becomes of its answer: the cells of `pulsar/outcomes/requests`, as Cases."""
