"""What people look at: figures, and the page on one mechanism for engineers, reviewers and researchers."""
