"""Optuna chooses the knee height of a walker. Each trial is one optimal control problem; a gait that fails prunes its trial.

Run it where `dodyn` is installed: python3 optuna_gait.py knee.cfg
"""

import sys

import optuna

import dodyn

with dodyn.Study(sys.argv[1], settings={"gait.initial-guesses": 4, "gait.intervals": 30}) as study:
    knee = study.variables[0]

    def objective(trial):
        result = study.evaluate({"knee": trial.suggest_float("knee", knee.lower, knee.upper)}, trajectory=False, seed=1)  # the same initial guesses for each design
        if not result.ok:
            raise optuna.TrialPruned(result.reason)
        return result.cost

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    search.optimize(objective, n_trials=20)
    print(f"{len(search.trials)} trials: cost {search.best_value:.6g} at knee = {search.best_params['knee']:.4g} m")

    # The check: the same design costs the same, and the middle of the range costs more.
    assert study.evaluate(search.best_params, seed=1).cost == search.best_value
    assert study.evaluate({"knee": 0.5 * (knee.lower + knee.upper)}, seed=1).cost > search.best_value
