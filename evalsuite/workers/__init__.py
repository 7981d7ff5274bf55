"""Processes behind walls, local or on a cluster, behind one `Executor`: tasks in, one result a task out, in order of completion.

`start.Zygote` forks worker processes; `isolated` is what they do inside, after `walls.worker_walls.lock_in`. A `lane.Lane` is a reader,
which opens the submission and knows no gold, joined to a judge, which opens gold and sees what was read. `pool.Pool` is the loop over
lanes, `dask_pool.DaskPool` the same over a cluster whose workers hold a pool each. `requests` and `stages` say what is done with one
answer, `combine` joins its checks to a result; `wire`, `sent_forms`, `streams` and `packing` are the bytes in between. `calls` calls one
function in a worker (`called`), `queries` runs statements in some, with a `talk` for each. `budget` is what the whole run may take.
"""
