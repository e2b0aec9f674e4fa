"""dodyn in Python: read archives, run studies, evaluate designs, and search for the minimum of a function of your own.

    import dodyn
    study = dodyn.Study("knee.cfg", design={"knee": (0.3, 0.65)})
    for evaluation in study.run():                      # each row as it comes
        print(evaluation.id, evaluation.design, evaluation.cost)
    study.evaluate({"knee": 0.4}).gradient              # {'knee': ...}, exact

    archive = dodyn.open("knee.h5")                     # also while a study runs
    archive.recommended.design                          # the design that `dodyn show` recommends
    archive.recommended.trajectory.q                    # numpy array [node, coordinate]
    archive.to_pandas()                                 # one row per evaluation

    optimizer = dodyn.Optimizer({"x": (0, 1)})          # ask() and tell()
    optimizer.minimize(lambda design: (design["x"] - 0.3) ** 2)

Needs h5py and numpy; everything except reading archives needs the program dodyn. The manual is docs/python.md.
"""

from .archive import Archive, ArchiveError, Channel, Evaluation, Event, Iteration, Quantity, Trajectory, open
from .model import Model, Motion
from .optimizer import Optimizer, Point, Told
from .program import ProgramError
from .study import Result, Study

__version__ = "0.1.0"
__all__ = [
    "Archive", "ArchiveError", "Channel", "Evaluation", "Event", "Iteration", "Model", "Motion", "Optimizer", "Point", "ProgramError", "Quantity",
    "Result", "Study", "Told", "Trajectory", "open",
]  # fmt: skip
