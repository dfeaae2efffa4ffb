"""What a module's code hides from the rules, and every reason to refuse a network."""
