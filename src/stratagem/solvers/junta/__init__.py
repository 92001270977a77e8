"""The junta solver: mixtures of patterns on few attributes, for domains too large to enumerate."""
