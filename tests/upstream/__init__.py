"""Watch the reference implementations: do their comparison functions still give the verdicts that our official rules give?"""
