"""What calls and requests end with: tables that checks judge by, Cases are made of, and a page prints."""
