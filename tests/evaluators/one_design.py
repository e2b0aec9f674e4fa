"""One evaluation of a shipped study, at a given value of its only variable, and its archive."""

import contextlib
import os
import subprocess
import tempfile

import h5py


@contextlib.contextmanager
def evaluated(dodyn, root, study, variable, value, *words):
    """The open archive of a study of configs/, with one row, at the value."""
    with tempfile.TemporaryDirectory() as folder:
        archive = os.path.join(folder, study + ".h5")
        subprocess.run([dodyn, "run", os.path.join(root, "configs", study + ".cfg"), "--study.archive", archive, "--strategy", "sweep",
                        "--surrogate.points", "1", "--study.max-evaluations", "1", f"--design.{variable}.min", repr(value * (1 - 1e-9)),
                        f"--design.{variable}.max", repr(value * (1 + 1e-9)), *words],
                       check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        with h5py.File(archive, "r") as file:
            assert file["evaluations/status"][0] == 0, file["evaluations/reason"][0]
            yield file
