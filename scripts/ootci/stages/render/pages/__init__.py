"""The pages, a module for each: its record, which is what its template shows and its file in the API."""
