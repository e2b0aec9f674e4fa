"""Reads what dodyn writes: design databases in HDF5, one file per study.

    import dodyn
    study = dodyn.open("knee.h5")          # also while the study runs
    study.best.design, study.best.cost     # {'knee': 0.279}, 0.0953: what `dodyn show` recommends
    study.best.trajectory.q                # numpy array [node, coordinate]
    study.best.trajectory["q"].names       # what the columns are
    study.to_pandas()                      # one row per evaluation
    study.to_xarray()                      # everything, labelled

Needs h5py and numpy; to_pandas() and to_xarray() need what they name, pictures (dodyn.plot, dodyn.animate) matplotlib.
"""

from .archive import ArchiveError, Channel, Evaluation, Study, Trajectory, open

__all__ = ["ArchiveError", "Channel", "Evaluation", "Study", "Trajectory", "open"]
