"""Flow control: how many messages a consumer asks for and may hold, and how many a producer may have pending."""
