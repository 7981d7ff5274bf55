"""The corpus as a fixture of every test in this folder."""

from tests.attacks.corpus import corpus as corpus
