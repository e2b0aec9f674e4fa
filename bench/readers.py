#!/usr/bin/python3
"""Tests what other programs read from an archive: the table of docs/measured/readers.md.

    bench/readers.py ARCHIVE.h5 [DODYN]           exit code 1 if an installed reader reads something else

Each reader must read five items: the cost of every row, the reason (a text), the status (an enum), the first design variable, and the sum of the
second trajectory channel's first row. Its values are compared with those of h5py. netCDF programs do not support texts of fixed length, and
Octave's netcdf does not support enums, so they do not read these items.
"""
import json
import os
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np

archive = os.path.abspath(sys.argv[1])
dodyn = shutil.which(sys.argv[2] if len(sys.argv) > 2 else "dodyn")


def by_h5py():
    with h5py.File(archive, "r", libver="latest", swmr=True) as file:
        table = file["evaluations"]
        n = len(table["id"])
        channel = list(file["trajectories"].attrs["names"])[1]
        return channel, {"cost": table["cost"][:n].tolist(), "reason": [text.decode() for text in table["reason"][:n]],
                         "status": table["status"][:n].tolist(), "design": table["design"][:n, 0].tolist(),
                         "path": float(np.nansum(file["trajectories"][channel][0]))}


channel, expected = by_h5py()

PANDAS = """import h5py, json, pandas, sys
with h5py.File(FILE) as f:
    e = f["evaluations"]
    t = pandas.DataFrame({"cost": e["cost"][:], "reason": e["reason"].asstr()[:], "status": e["status"][:], "design": e["design"][:, 0]})
    path = float(pandas.DataFrame(f["trajectories"][CHANNEL][0]).sum().sum())
print(json.dumps(dict(t.to_dict("list"), path=path)))
"""
XARRAY = """import json, xarray, numpy
e = xarray.open_dataset(FILE, engine="h5netcdf", group="evaluations")
p = xarray.open_dataset(FILE, engine="h5netcdf", group="trajectories")
texts = [t.decode() if isinstance(t, bytes) else str(t) for t in e["reason"].values]
print(json.dumps(dict(cost=e["cost"].values.tolist(), reason=texts, status=e["status"].values.tolist(),
                      design=e["design"].values[:, 0].tolist(), path=float(numpy.nansum(p[CHANNEL].values[0])))))
"""
PYTABLES = """import json, tables, numpy, warnings
warnings.simplefilter("ignore")
with tables.open_file(FILE) as f:
    e = f.root.evaluations
    status = e.status
    print(json.dumps(dict(cost=e.cost[:].tolist(), reason=[t.decode() for t in e.reason[:]], status=numpy.asarray(status[:]).tolist(),
                          design=e.design[:, 0].tolist(), path=float(numpy.nansum(f.get_node("/trajectories/" + CHANNEL)[0])))))
"""
OCTAVE = """pkg load netcdf
c = ncread(FILE, "/evaluations/cost");
d = ncread(FILE, "/evaluations/design");
p = ncread(FILE, ["/trajectories/" CHANNEL]);
first = p(:, :, 1);
say = @(v) ["[" strjoin(arrayfun(@(x) sprintf("%.17g", x), v(:)', "UniformOutput", false), ",") "]"];
printf("{\\"cost\\": %s, \\"design\\": %s, \\"path\\": %.17g}\\n", say(c), say(d(1, :)), sum(first(!isnan(first))));
"""
OCTAVE_JSON = """[failed, text] = system([DODYN " show " FILE " --json"]);
e = jsondecode(text).evaluations;
[failed, text] = system([DODYN " show " FILE " --json --evaluation " num2str(e(1).id)]);
t = jsondecode(text).trajectory;
first = cell2mat(struct2cell(t.(CHANNEL).values));
design = arrayfun(@(row) struct2cell(row.design){1}, e);
words = {"ok", "infeasible", "not_converged", "failed", "timed_out", "lost"};
[~, status] = ismember({e.status}, words);
printf("%s\\n", jsonencode(struct("cost", [e.cost], "design", design(:)', "status", status - 1, "reason", {{e.reason}},
                                  "path", sum(first(! isnan(first))))));
"""
R = """suppressPackageStartupMessages(library(hdf5r))
f <- H5File$new(FILE, "r")
e <- f[["evaluations"]]
num <- function(v) paste0("[", paste(ifelse(is.nan(v) | is.na(v), "NaN", format(v, digits = 17)), collapse = ","), "]")
p <- f[["trajectories"]][[CHANNEL]][, , 1]
cat(sprintf('{"cost": %s, "status": %s, "design": %s, "path": %s, "reason": [%s]}\\n', num(e[["cost"]][]), num(as.numeric(e[["status"]][])),
            num(e[["design"]][1, ]), format(sum(p, na.rm = TRUE), digits = 17), paste0('"', e[["reason"]][], '"', collapse = ",")))
"""


def script(program, text, suffix):
    def run():
        name = f"reader{suffix}"
        with open(name, "w") as file:
            quoted = text.replace("FILE", json.dumps(archive)).replace("CHANNEL", json.dumps(channel)).replace("DODYN", json.dumps(dodyn))
            file.write(quoted)
        done = subprocess.run([*program, name], capture_output=True, text=True)
        os.unlink(name)
        if done.returncode != 0:
            raise ValueError((done.stderr.strip().splitlines() or ["no word"])[-1])
        return json.loads(done.stdout.strip().splitlines()[-1])
    return run


def numbers(text):
    return [float("nan") if t.startswith(("nan", "NaN", "_")) else float(t) for t in re.findall(r"-?(?:nan|NaN|_|[0-9][0-9.e+-]*)", text)]


def dumped(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError((done.stderr.strip().splitlines() or ["no word"])[-1])
    return done.stdout


def h5dump():
    names = list(expected_status())

    def data(path, *more):
        text = dumped("h5dump", "-y", "-w", "0", "-m", "%.17g", "-d", path, *more, archive)
        return text[text.index("DATA {") + 6:].split("}", 1)[0]
    variables = h5py.File(archive)["evaluations/design"].shape[1]
    nodes = h5py.File(archive)[f"trajectories/{channel}"].shape
    return {"cost": numbers(data("/evaluations/cost")), "reason": [re.sub(r"(\\000)+$", "", t) for t in re.findall(r'"([^"]*)"', data("/evaluations/reason"))],
            "status": [names.index(word) for word in re.findall(r"[a-z_]+", data("/evaluations/status"))],
            "design": numbers(data("/evaluations/design"))[::variables],
            "path": float(np.nansum(numbers(data(f"/trajectories/{channel}", "-s", "0,0,0", "-c", f"1,{nodes[1]},{nodes[2]}"))))}


def expected_status():
    with h5py.File(archive) as file:
        enum = h5py.check_enum_dtype(file["evaluations/status"].dtype)
    return dict(sorted(enum.items(), key=lambda item: item[1]))


def ncdump():
    def data(path):
        text = dumped("ncdump", "-p", "9,17", "-v", path, archive)
        part = text[text.index("data:", text.index(f"group: {path.split('/')[1]} " + "{")):]
        return part[part.index("=") + 1:part.index(";")]
    with h5py.File(archive) as file:
        variables = file["evaluations/design"].shape[1]
        size = int(np.prod(file[f"trajectories/{channel}"].shape[1:]))
    names = list(expected_status())
    return {"cost": numbers(data("/evaluations/cost")), "design": numbers(data("/evaluations/design"))[::variables],
            "status": [names.index(word) for word in re.findall(r"[a-z_]+", data("/evaluations/status"))],
            "path": float(np.nansum(numbers(data(f"/trajectories/{channel}"))[:size]))}


def module(name):
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0


def version(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    found = re.search(r"\d+\.\d+[.\d]*", done.stdout + done.stderr)
    return found[0] if found else ""


READERS = {
    "pandas (h5py)": (module("pandas"), version(sys.executable, "-c", "import pandas; print(pandas.__version__)"), script([sys.executable], PANDAS, ".py")),
    "xarray (h5netcdf)": (module("h5netcdf") and module("xarray"), version(sys.executable, "-c", "from importlib.metadata import version; print(version('xarray'))"),
                          script([sys.executable], XARRAY, ".py")),
    "PyTables": (module("tables"), version(sys.executable, "-c", "import tables; print(tables.__version__)"), script([sys.executable], PYTABLES, ".py")),
    "Octave (netcdf)": (shutil.which("octave-cli") and subprocess.run(["octave-cli", "--quiet", "--eval", "pkg load netcdf"], capture_output=True).returncode == 0, version("octave-cli", "--version") if shutil.which("octave-cli") else "", script(["octave-cli", "--quiet"], OCTAVE, ".m")),
    "Octave (dodyn show --json)": (shutil.which("octave-cli") and dodyn, version("octave-cli", "--version") if shutil.which("octave-cli") else "", script(["octave-cli", "--quiet"], OCTAVE_JSON, ".m")),
    "R (hdf5r)": (shutil.which("Rscript"), version("Rscript", "--version") if shutil.which("Rscript") else "", script(["Rscript"], R, ".R")),
    "h5dump": (shutil.which("h5dump"), version("h5dump", "--version") if shutil.which("h5dump") else "", h5dump),
    "ncdump": (shutil.which("ncdump"), version("ncdump") if shutil.which("ncdump") else "", ncdump),
}


def same(found, wanted):
    if isinstance(wanted, float):
        return abs(found - wanted) <= 1e-12 * max(1.0, abs(wanted))
    found = [x if x is not None else float("nan") for x in (found if isinstance(found, list) else [found])]
    if wanted and isinstance(wanted[0], str):
        return [t.strip() for t in found] == [t.strip() for t in wanted]
    # Octave's jsondecode does not round the last bit reliably.
    return len(found) == len(wanted) and np.allclose(np.array(found, float), np.array(wanted, float), rtol=1e-15, atol=0, equal_nan=True)


print("| reader | version | cost | design | text | status | trajectory |\n|---|---|---|---|---|---|---|")
print(f"| h5py | {h5py.__version__} | read | read | read | read | read |")
wrong = False
for name, (there, number, read) in READERS.items():
    if not there:
        print(f"| {name} | not installed | | | | | |")
        continue
    try:
        found = read()
        cells = ["not seen" if key not in found else "read" if same(found[key], expected[key]) else "differs" for key in ("cost", "design", "reason", "status", "path")]
        wrong |= "differs" in cells
    except (ValueError, KeyError, IndexError) as error:
        cells = [f"no: {str(error)[:90]}", "", "", "", ""]
        wrong = True
    print(f"| {name} | {number} | " + " | ".join(cells) + " |", flush=True)
sys.exit(wrong)
