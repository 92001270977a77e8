"""A server that collects: it shows the form, keeps the reports that come back, and shows what they say so far."""
