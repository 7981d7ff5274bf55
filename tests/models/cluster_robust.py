"""Cluster-robust inference on a mean written out plainly: the matrices of CR2."""

from collections.abc import Hashable, Sequence

import numpy as np


def bell_mccaffrey(scores: Sequence[float], clusters: Sequence[Hashable]) -> tuple[float, float]:
    """(CR2 standard error, Satterthwaite's degrees of freedom) of the constant of a regression on nothing else.

    Source: Bell and McCaffrey (2002), Survey Methodology 28: residuals of each cluster times the inverse root of its block of I - H, and
    degrees of freedom under independent errors of one variance.
    """
    y = np.asarray(scores, dtype=float)
    n, x = len(y), np.ones((len(y), 1))
    bread = np.linalg.inv(x.T @ x)
    rest = np.eye(n) - x @ bread @ x.T
    residuals = rest @ y
    square, rows = 0.0, []
    for name in dict.fromkeys(clusters):
        at = [i for i, own in enumerate(clusters) if own == name]
        values, vectors = np.linalg.eigh(rest[np.ix_(at, at)])
        root = vectors @ np.diag([v**-0.5 if v > 1e-10 else 0.0 for v in values]) @ vectors.T
        adjusted = (bread @ x[at].T @ root).ravel()
        square += float(adjusted @ residuals[at]) ** 2
        rows.append(adjusted @ rest[at])
    cross = np.asarray(rows) @ np.asarray(rows).T
    return square**0.5, float(np.trace(cross) ** 2 / np.sum(cross * cross))
