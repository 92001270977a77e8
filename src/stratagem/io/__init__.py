"""What comes in and goes out: files read without trust and written safely, texts for a screen, HTML."""
