"""Other readers open every group of every kind of archive: xarray through h5netcdf without help, h5dump. Usage:
other_readers.py DODYN"""

import os
import shutil
import subprocess
import sys
import tempfile

from studies import make

try:
    import h5netcdf  # noqa: F401
    import numpy as np
    import xarray

    import dodyn as package
except ImportError:
    sys.exit(77)  # skipped

with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    names = ("knee", "docking", "scene", "command", "failing")
    make(*names)
    for name in names:
        path, study = f"{name}.h5", package.open(f"{name}.h5")
        for group in (None, "evaluations", "trajectories", "iterations", "surrogate"):
            with xarray.open_dataset(path, engine="h5netcdf", group=group) as data:
                data.load()
                if group == "evaluations":
                    assert list(data["id"]) == list(study.columns["id"])
                    assert np.array_equal(data["cost"], study.columns["cost"], equal_nan=True)
                    variables = [v.decode() for v in data["variable"].values]
                    assert variables == [v.name for v in study.variables]
                    if study.best:
                        x = data["design"].sel(id=study.best.id, variable=variables[0].encode())
                        assert float(x) == study.best.design[variables[0]]
                if group == "trajectories":
                    for channel in study.channel_names:
                        assert data[channel].dims[0] == "id" and data[channel].dims[2] == channel + "_coordinate"
        if shutil.which("h5dump"):
            subprocess.run(["h5dump", "-H", path], check=True, stdout=subprocess.DEVNULL)
        print(name, "ok", flush=True)
    # Whatever else is installed here (Octave, R, PyTables, ...) reads the same numbers.
    readers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "readers.py")
    subprocess.run([sys.executable, readers, "knee.h5", sys.argv[1]], check=True)
