"""A command's answer as text, JSON, annotations, JUnit or SARIF."""
