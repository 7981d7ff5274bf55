"""What runs inside the jail of programs: the source of an interpreter's first and only file, which is no part of any import path.

It has the program, its test and the limits from standard input, and never a path or a word of the suite's.

That the test came to its end is told by a random word. Program and test run in threads that have no Python frame beneath them, and the
word stands in no variable: it waits inside C iterators of the first thread, which run no Python between the test's last line and the
word's way out. What would show it from outside (`gc.get_objects`, `sys._current_frames`, ctypes, `/proc/self/mem`, audit hooks of its own)
is refused. An exit, by whatever way, says nothing.
"""

from typing import Final

INSIDE: Final = r'''
import io, os, struct, sys
def _take(n):
    got = b""
    while len(got) < n:
        piece = os.read(0, min(n - len(got), 1 << 16))
        if not piece:
            os._exit(1)
        got += piece
    return got
_program, _test, _mib, _seconds = struct.unpack("=IIId", _take(20))
_program, _test = _take(_program), _take(_test)
_back = os.dup(1)
_null = os.open(os.devnull, os.O_RDWR)
class _Nowhere(io.RawIOBase):
    def writable(self):
        return True
    def write(self, data):
        return len(data)
sys.stdin = io.StringIO()
sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Nowhere()), encoding="utf-8", errors="replace")
sys.stderr = io.TextIOWrapper(io.BufferedWriter(_Nowhere()), encoding="utf-8", errors="replace")
def _limit():
    try:
        import resource
    except ImportError:
        return
    cpu = int(_seconds) + 1
    wanted = {"RLIMIT_AS": _mib << 20, "RLIMIT_CPU": cpu, "RLIMIT_FSIZE": 1 << 20, "RLIMIT_CORE": 0}
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None or (name == "RLIMIT_AS" and sys.platform == "darwin"):
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError):
            pass
def _build_wall():
    roots = tuple(os.path.realpath(p) + os.sep for p in {os.path.dirname(os.__file__), *sys.path} if p)
    own = os.path.realpath(os.getcwd())
    own = own + os.sep if own != os.sep else None
    refused = tuple(
        """socket.connect socket.bind socket.send socket.get subprocess. os.system os.exec os.fork os.posix_spawn os.spawn os.kill
        pty. ctypes. os.chmod os.chown os.link os.symlink os.truncate os.setxattr os.putenv os.utime shutil. ftplib. smtplib.
        urllib. http. sqlite3. winreg. os.startfile resource. gc.get_ sys._current_frames sys._current_exceptions sys.addaudithook
        cpython. mmap. syslog. signal.pthread_kill""".split()
    )
    unseen = ("_ctypes", "_testcapi", "_testinternalcapi", "_xxsubinterpreters", "_interpreters")
    changing = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.listdir", "os.scandir", "os.chdir")
    realpath, fspath, join = os.path.realpath, os.fspath, os.path.join
    def inside(path, roots):
        path = realpath(fspath(path))
        path = path.decode("utf-8", "replace") if isinstance(path, bytes) else path
        return any((path + os.sep).startswith(root) for root in roots)
    def wall(event, arguments):
        if event.startswith(refused) or (event == "import" and arguments[0] in unseen):
            raise PermissionError("not allowed here: " + event)
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int):
                return
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            if not (own and inside(path, (own,))) and (writes or not inside(path, roots)):
                raise PermissionError("not allowed here: open")
        elif event in changing:
            for path in arguments[:2]:
                if isinstance(path, (str, bytes, os.PathLike)) and not inside(path, (own,) if own else ()):
                    if not (event in ("os.listdir", "os.scandir") and inside(path, roots)):
                        raise PermissionError("not allowed here: " + event)
    sys.addaudithook(wall)
def _steps(_thread, partial, deque, weakref, space, codes):
    steps, watched = deque(), []
    for code in codes:
        # One C call runs the code: no Python frame lies beneath it. What it adds to is reached from nowhere, also not from the thread's
        # function, which `sys.unraisablehook` is handed; only an end without an error adds to it. The lock opens when the thread is gone,
        # whichever way it went.
        ended, gone, once = [], _thread.allocate_lock(), deque([code])
        gone.acquire()
        watched.append(weakref.ref(once, lambda _, opened=gone.release: opened()))
        steps += [
            partial(_thread.start_new_thread, deque, (map(ended.append, map(exec, once, [space.__dict__])), 0)),
            gone.acquire,
            ended.pop,
        ]
    # What a step holds goes when it is done, so that a thread's own things die with it.
    steps.append(None)
    return iter(steps.popleft, None), watched
def _main():
    global _program, _test
    import _thread, gc, types, weakref
    from collections import deque
    from functools import partial
    from itertools import chain
    from operator import call
    space = types.ModuleType("__main__")
    space.__builtins__ = __builtins__
    try:
        codes = [compile(text, "<program>", "exec", dont_inherit=True) for text in (_program, _test)]
    except BaseException:
        os._exit(1)
    del _program, _test
    # What sees or runs inside other threads; later Pythons have more of them.
    for name in ("_settraceallthreads", "_setprofileallthreads", "monitoring"):
        if hasattr(sys, name):
            delattr(sys, name)
    _limit()
    os.dup2(_null, 2)
    os.dup2(_null, 1)
    sys.modules["__main__"] = space
    write, leave = partial(os.write, _back), partial(os._exit, 0)
    parts = [*_steps(_thread, partial, deque, weakref, space, codes)]
    _build_wall()
    del codes
    gc.collect()
    gc.freeze()
    os.write(_back, b"!")
    try:
        # The word goes from pipe to pipe inside this one expression. Steps and word are in no variable of this frame, which a collection
        # of garbage in this thread could show.
        deque(map(call, chain(parts.pop(0), [partial(write, _take(32)), leave], parts.pop())), maxlen=0)
    finally:
        os._exit(1)
_main()
'''
