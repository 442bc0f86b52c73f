"""Reading a model's text: a verdict, a JSON object, a probability, or a named failure."""
