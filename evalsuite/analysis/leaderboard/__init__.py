"""Submissions side by side: `pairing` loads and pairs sides, `comparison` tests their differences, `ranking` ranks many submissions.

`reliability` shows how far scores can be trusted: samples of one model, raters, tolerances.
"""

from evalsuite.analysis.leaderboard.comparison import Candidate, Comparison, compare
from evalsuite.analysis.leaderboard.pairing import RunSide, load_sides

__all__ = ["Candidate", "Comparison", "RunSide", "compare", "load_sides"]
