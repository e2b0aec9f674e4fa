"""`dodyn new KIND` writes studies that run at once and end by their own rule, and overwrites nothing. Usage: new.py DODYN"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

DODYN = os.path.abspath(sys.argv[1])


def dodyn(*words, code=0):
    done = subprocess.run([DODYN, *words], capture_output=True, text=True, timeout=200)
    assert done.returncode == code, (words, done)
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    kinds = [line.split()[0] for line in dodyn("new", "--list").splitlines()]
    assert kinds == ["gait", "motion", "simulation", "python", "bash", "cpp"], kinds
    for kind in kinds:
        os.mkdir(os.path.join(directory, kind))
        os.chdir(os.path.join(directory, kind))
        said = dodyn("new", kind)
        files = sorted(os.listdir("."))
        assert f"{kind}.cfg" in files and all(name in said for name in files), (said, files)
        texts = {name: open(name).read() for name in files}
        assert files[0] in dodyn("new", kind, code=2) or f"{kind}.cfg" in dodyn("new", kind, code=2)
        assert texts == {name: open(name).read() for name in files}, "nothing is overwritten"
        if kind == "cpp":
            if shutil.which("c++") is None:
                continue
            subprocess.run(["c++", "-O2", "-o", "cpp", "cpp.cpp"], check=True)
        said = dodyn("run", f"{kind}.cfg")
        assert "finished: " in said and "warning" not in said, said
        rows = json.loads(dodyn("show", f"{kind}.h5", "--json"))["evaluations"]
        assert all(row["status"] == "ok" for row in rows), rows
        print(kind, "ok", flush=True)
    os.chdir(directory)
    os.symlink("nowhere", "motion.model")  # a link without a target also counts as an existing file
    dodyn("new", "motion", code=2)
    assert not os.path.exists("motion.cfg")
    os.remove("motion.model")
    # A full disk leaves no file that the next attempt would refuse to replace.
    def without_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = subprocess.run([DODYN, "new", "motion"], capture_output=True, text=True, preexec_fn=without_room)
    assert done.returncode == 1 and "motion.cfg: cannot be written: File too large" in done.stderr and not os.path.exists("motion.cfg"), done
    os.symlink("nowhere.h5", "link.h5")
    assert dodyn("show", "link.h5", code=2) == "dodyn: link.h5: no such file\n"
    assert "did you mean 'motion'" in dodyn("new", "motoin", code=2)
