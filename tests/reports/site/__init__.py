"""The site of a leaderboard."""
