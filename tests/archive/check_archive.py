"""Reads an archive with h5py alone while it grows to 60 rows. Exit status 0 if every read is consistent."""

import sys
import time
import zlib

import h5py
import numpy as np

path = sys.argv[1]


def check_rows(f, n):
    """Checks the first `n` rows. A column may be longer than `n` while rows are appended, but never shorter."""
    for group in ("/evaluations", "/trajectories"):
        for name, column in f[group].items():
            if column.maxshape[0] is not None:  # a dimension scale
                continue
            column.refresh()
            assert len(column) >= n, f"a committed row lacks {name}"
    e = f["/evaluations"]
    assert (e["id"][:n] == np.arange(n)).all()
    assert (e["wall_time"][:n] == 0.5 * np.arange(n)).all()


looks = open(path + ".go", "wb", buffering=0)  # each byte allows the writer five rows

# A reader that keeps the file open until there are 30 rows: it refreshes `id` first, then the other columns.
with h5py.File(path, "r", libver="latest", swmr=True) as f:
    ids = f["/evaluations/id"]
    seen = [len(ids)]
    while seen[-1] < 30:
        looks.write(b".")
        ids.refresh()
        seen.append(len(ids))
        check_rows(f, seen[-1])
    assert len(set(seen)) > 5 and seen == sorted(seen), seen

# A reader that opens the file repeatedly, at any time.
n = refused = tries = 0
while n < 60:
    looks.write(b".")
    tries += 1
    try:
        with h5py.File(path, "r", libver="latest", swmr=True) as f:
            n = len(f["/evaluations/id"])
            check_rows(f, n)
    except OSError:  # the file grew between HDF5's reads of its length and its superblock
        refused += 1
assert refused < 10 or refused < tries / 2, (refused, tries)

# Reads the whole file as the README shows.
while True:
    try:
        f = h5py.File(path, "r")
        if f.attrs["stop_reason"]:
            break
        f.close()
    except OSError:  # an append was running; it locks the file for some milliseconds
        pass
    time.sleep(0.02)
with f:
    e = f["/evaluations"]
    n = len(e["id"])
    assert n == 60
    assert f.attrs["schema"] == 7 and f.attrs["program"] == "dodyn" and f.attrs["stop_reason"] == b"done"
    assert "study.evaluator = gait\n" in f.attrs["configuration"]
    status = h5py.check_enum_dtype(e["status"].dtype)
    assert status == dict(ok=0, infeasible=1, not_converged=2, failed=3, timed_out=4, lost=5), status
    assert (e["status"][:] == np.arange(n) % 6).all()
    assert e["reason"].asstr()[1] == "reason of row 1"
    assert list(e["design"].attrs["names"]) == ["knee"] and list(e["design"].attrs["units"]) == ["m"]
    assert list(e["metrics"].attrs["names"]) == ["speed", "steps"]
    assert e["wall_time"].attrs["unit"] == "s"
    assert e["design"].shape == (n, 1) and e["metrics"].shape == (n, 2)
    assert np.isnan(e["gradient"][1::2]).all() and np.isfinite(e["gradient"][::2]).all()
    q = f["/trajectories/q"]
    assert q.shape == (n, 21, 3) and q.chunks == (4096 // (21 * 3 * 8), 21, 3) and q.attrs["units"] == "rad"
    assert [d.label for d in q.dims] == ["evaluation", "node", "coordinate"]
    assert q.dims[0][0] == e["id"] and list(q.dims[2][0][:]) == [b"stance", b"swing", b"hip"], list(q.dims[2][0][:])
    assert list(q.attrs["coordinate_units"]) == ["rad"] * 3
    for group in ("/evaluations", "/trajectories", "/iterations", "/surrogate", "/events"):
        for name, dataset in f[group].items():
            if dataset.attrs.get("CLASS") != b"DIMENSION_SCALE":
                for dimension in dataset.dims:
                    assert len(dimension) == 1, f"{group}/{name} has a dimension without a scale"
    k, j = np.meshgrid(np.arange(21), np.arange(3), indexing="ij")
    for i in range(n):
        assert np.isnan(q[i]).all() if i % 3 == 2 else np.allclose(q[i], np.sin(i + k + 10 * j), atol=1e-12)
    # The checksum of a row is that of its fields' bytes, in the order of the record, and of its trajectory's.
    fields = ["id", "warm_start_id", "design", "seed", "status", "reason", "cost", "cost_stderr", "gradient", "metrics"]
    fields += ["wall_time", "rank", "host", "start_time"]
    fixed = {name: e[name].id.get_type().get_size() for name in fields}
    raw = lambda name, i: (e[name][i].ljust(fixed[name], b"\0") if e[name].dtype.kind in "SO" else e[name][i].tobytes())
    for i in range(n):
        crc = zlib.crc32(b"".join(raw(name, i) for name in fields))
        motion = b"".join(f["/trajectories"][c][i].tobytes() for c in ("t", "q"))
        of_motion = 0 if i % 3 == 2 else zlib.crc32(motion)
        outcome = b"".join(raw(name, i) for name in fields[2:10]) + of_motion.to_bytes(4, "little")
        assert list(e["checksum"][i]) == [crc, of_motion, zlib.crc32(outcome)], i
    assert (f["/iterations/n_observed"][:] == 1 + np.arange(n)).all()
    numbers = f["/iterations/diagnostics"]
    assert list(numbers.attrs["names"]) == ["length", "quality"] and numbers.shape == (n, 2)
    assert np.isnan(numbers[0]).all() and numbers[5, 1] == 5 and np.isnan(f["/iterations/recommended"][1]).all()
    considered = f["/iterations/candidates"]
    assert list(considered.attrs["names"]) == ["knee", "score"] and considered.shape == (n, 8, 2)
    assert (considered[13, :4, 0] == 13 + 0.1 * np.arange(4)).all() and np.isnan(considered[13, 4:]).all()
    s = f["/surrogate"]
    assert s["value"].dims[1][0] == s["grid"] and s["value"].shape == (n, 11)
    assert np.isnan(s["value"][0]).all() and np.allclose(s["value"][5], 5 * s["grid"][:] ** 2)
