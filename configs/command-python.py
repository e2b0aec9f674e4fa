"""The inner problem of command-python.cfg: the angle at which a thrown stone comes farthest, 1 m up at 10 m/s."""
import json
import math
import os

with open(os.environ["DODYN_DESIGN_FILE"]) as file:
    task = json.load(file)  # {"id": ..., "seed": ..., "design": {"angle": ...}, "time_limit": ...}
angle = task["design"]["angle"]


def distance(angle, v=10.0, h=1.0, g=9.81):
    x, y = v * math.cos(angle), v * math.sin(angle)
    return x * (y + math.sqrt(y * y + 2 * g * h)) / g


slope = (distance(angle + 1e-6) - distance(angle - 1e-6)) / 2e-6
with open(os.environ["DODYN_RESULT_FILE"], "w") as file:
    json.dump({"cost": -distance(angle), "gradient": {"angle": -slope}, "metrics": {"range": distance(angle)}}, file)
