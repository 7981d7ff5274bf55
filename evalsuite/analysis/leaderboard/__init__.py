"""Submissions side by side: compared on the same instances, ranked, and two raters held against each other.

What is compared (`sides`), how it is paired (`pairing`), one tested difference (`tested_differences`), the whole of it (`comparison`); many
submissions in a ranking (`ranking`); how far two raters agree (`raters`).
"""

from evalsuite.analysis.leaderboard.comparison import Candidate, Comparison, compare
from evalsuite.analysis.leaderboard.pairing import RunSide, load_sides

__all__ = ["Candidate", "Comparison", "RunSide", "compare", "load_sides"]
