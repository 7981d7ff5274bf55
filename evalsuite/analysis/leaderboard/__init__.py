"""Submissions side by side: compared on the same instances, ranked, and the agreement of two raters.

`pairing` loads and pairs sides, `comparison` tests their differences, `ranking` ranks many submissions, `repeated_runs` averages samples of
one
model, `margin_curve` shows the effect of tolerances, `agreement` compares raters, `board_rules` decides which submissions a board accepts.
"""

from evalsuite.analysis.leaderboard.comparison import Candidate, Comparison, compare
from evalsuite.analysis.leaderboard.pairing import RunSide, load_sides

__all__ = ["Candidate", "Comparison", "RunSide", "compare", "load_sides"]
