"""The version of evalsuite; pyproject.toml names the same."""

__version__ = "0.2.0"
