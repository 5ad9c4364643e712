"""Two checkouts judge the same stored histories, and what they say differently is listed."""
