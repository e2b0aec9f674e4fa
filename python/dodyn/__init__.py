"""Archives of dodyn in Python. An archive is one HDF5 file and holds one study.

    import dodyn
    archive = dodyn.open("knee.h5")            # also while the study runs
    archive.best.design, archive.best.cost     # {'knee': 0.279}, 0.0953: the design that `dodyn show` recommends
    archive.best.trajectory.q                  # numpy array [node, coordinate]
    archive.best.trajectory["q"].names         # names of the columns
    archive.to_pandas()                        # one row per evaluation
    archive.to_xarray()                        # everything, labelled

Needs h5py and numpy. to_pandas() and to_xarray() need the packages of these names; dodyn.plot and dodyn.animate need matplotlib.
"""

from .archive import Archive, ArchiveError, Channel, Evaluation, Event, Iteration, Quantity, Trajectory, open

__version__ = "0.1.0"
__all__ = ["Archive", "ArchiveError", "Channel", "Evaluation", "Event", "Iteration", "Quantity", "Trajectory", "open"]
