"""Predicts the efficiency of the farm on more ranks than this machine has, by an event simulation of rank 0.

    bench/farm_simulation.py            fits, checks, and prints the tables of docs/measured/farm.md

The model has N ranks, including rank 0. A worker that ends an evaluation is idle for `latency` seconds: one half until rank 0 has its answer, the
other half until it has the next task. In between, rank 0 spends `message` seconds on the pair. It serves the pairs in the order of their arrival.
Another thread archives all arrived rows in commits of at most 256 rows. A commit takes `commit` + `row` seconds per row. After the commit the
strategy receives the results. Synchronous: a batch is requested when the strategy has all results of the previous one. Asynchronous: each result
causes one new request. An evaluation may consist of several parts, which are separate tasks. Ranks may be slow. A long evaluation may be repeated
on another rank (study.speculate-after). No value is fitted to the tables: `message` is the inverse of the measured rate of messages, `commit` and
`row` come from bench/archive_append, and `latency` comes from one measured efficiency.
"""
import bisect
import collections
import heapq
import math
import random

MOST_ROWS = 256  # in one commit


def simulate(ranks, tasks, duration, latency, message, commit=0.0, row=0.0, batch=None, asynchronous=False, seed=1, parts=1,
             slow=None, copy_after=math.inf):
    """Returns the start and end of each attempt at `tasks` evaluations of `parts` parts, and the time when the study had all results.
    duration(chance) gives the seconds of a part. Without a batch all tasks are requested at once. `slow`: {rank: factor of its durations}.
    An attempt that takes `copy_after` times the median is repeated on an idle rank. The first answer ends the other attempt."""
    chance = random.Random(seed)
    slow = slow or {}
    events, order = [], 0  # (time, order, what, of)
    now = master = 0.0  # time at which rank 0 is free for the next message
    runs = []
    idle = list(range(ranks - 1, -1, -1))
    queue = collections.deque()
    at = {}  # rank: (part, start time); identifies the answer of a cancelled attempt
    copied, answered = set(), [0] * tasks
    seconds = {}  # duration of a part, which does not depend on the rank
    ended = []  # sorted durations
    asked = told = rows = writing = 0
    look = -1.0  # next time at which durations are compared with copy_after

    def push(time, what, of=None):
        nonlocal order
        order += 1
        heapq.heappush(events, (time, order, what, of))

    def ask(count):
        nonlocal asked
        for design in range(asked, min(asked + count, tasks)):
            queue.extend((design, part) for part in range(parts))
        asked = min(asked + count, tasks)

    def begin(part, rank, time):
        nonlocal master
        start = time
        if rank > 0:
            master = max(master, time) + message
            start = master + latency / 2
        at[rank] = (part, start)
        if part not in seconds:
            seconds[part] = duration(chance)
        push(start + seconds[part] * slow.get(rank, 1), "end", (rank, part, start))

    def hand_out(time):
        nonlocal look
        while queue and idle:
            begin(queue.popleft(), idle.pop(), time)
        if not idle or copy_after == math.inf or len(ended) < 3:
            return
        late = copy_after * ended[len(ended) // 2]
        for rank, (part, start) in sorted(at.items(), key=lambda item: item[1][1]):
            if part in copied:
                continue
            if time < start + late:  # later starts are not late either
                if not time < look <= start + late:
                    look = start + late
                    push(look, "look")
                return
            if not idle:
                return
            copied.add(part)
            begin(part, idle.pop(), time)

    def write(time):
        nonlocal rows, writing
        if writing or not rows:
            return
        writing = min(rows, MOST_ROWS)
        rows -= writing
        push(time + commit + row * writing, "written")

    ask(batch or tasks)
    hand_out(0.0)
    while told < tasks:
        now, _, what, of = heapq.heappop(events)
        if what == "end":
            rank, part, start = of
            if at.get(rank) != (part, start):
                continue  # the attempt was cancelled
            runs.append((start, now))
            del at[rank]
            push(now + (latency / 2 if rank else 0.0), "arrived", (rank, part))
            if copy_after < math.inf:
                bisect.insort(ended, now - start)
            for other, (its, since) in list(at.items()) if part in copied else ():
                if its == part:
                    del at[other]
                    runs.append((since, now))
                    push(now + latency, "free", other)
        elif what == "arrived":
            rank, (design, _) = of
            idle.append(rank)
            answered[design] += 1
            rows += answered[design] == parts
            write(now)
            hand_out(now)
        elif what == "written":
            told += writing
            if asynchronous:
                ask(writing)
            elif batch and told == asked:
                ask(batch)
            writing = 0
            write(now)
            hand_out(now)
        else:
            if what == "free":
                idle.append(of)
            hand_out(now)
    return runs, now


def efficiency(ranks, rounds, duration, until_the_last=False, **more):
    """Returns the share of the ranks' time spent on evaluations: of the whole run, or until the last evaluation begins."""
    runs, end = simulate(ranks, rounds * ranks, duration, **more)
    if until_the_last:
        end = max(begin for begin, _ in runs)
    return sum(min(stop, end) - min(start, end) for start, stop in runs) / (ranks * end)


def constant(mean):
    return lambda chance: mean


def heavy(mean):
    """Returns a log-normal duration with a standard deviation equal to its mean: 1 % exceed 4.9 times the mean."""
    sigma = math.sqrt(math.log(2))
    return lambda chance: mean * math.exp(sigma * chance.gauss(0, 1) - sigma * sigma / 2)


def main():
    # docs/measured/scaling.md, the quiet machine: messages a second of 64 ranks; efficiency of 0.1 s on 64 ranks, 100 evaluations each.
    message, measured = 1 / 27600, 0.952
    low, high = 0.0, 0.1
    while high - low > 1e-6:
        latency = (low + high) / 2
        fits = efficiency(64, 100, constant(0.1), latency=latency, message=message) > measured
        low, high = (latency, high) if fits else (low, latency)
    print(f"fitted to 64 ranks, 100 evaluations of 0.1 s each, {measured}: latency {1e3 * latency:.2f} ms; message {1e6 * message:.0f} us\n")
    print("| ranks | evaluations a rank | measured | simulated |\n|---|---|---|---|")
    for ranks, seen in ((2, 0.966), (8, 0.946), (32, 0.951), (64, 0.944)):  # not used for the fit
        print(f"| {ranks} | 30 | {seen:.3f} | {efficiency(ranks, 30, constant(0.1), latency=latency, message=message):.3f} |")

    stragglers(latency, message)
    for name, (commit, row) in ARCHIVES.items():
        print(f"\n{name}: {1e3 * commit:.1f} ms a commit, {1e3 * row:.3f} ms a row\n")
        print("| mean time | ranks | constant, asynchronous | heavy tails, asynchronous | heavy, batch = ranks | heavy, batch = 4 ranks |")
        print("|---|---|---|---|---|---|")
        for mean in (0.05, 0.1, 1, 10, 100):
            for ranks in (64, 1000, 10000):
                rounds = 20 if ranks < 10000 else 8
                common = {"latency": latency, "message": message, "commit": commit, "row": row}
                cells = [efficiency(ranks, rounds, constant(mean), True, batch=2 * ranks, asynchronous=True, **common),
                         efficiency(ranks, rounds, heavy(mean), True, batch=2 * ranks, asynchronous=True, **common),
                         efficiency(ranks, rounds, heavy(mean), batch=ranks, **common),
                         efficiency(ranks, rounds, heavy(mean), batch=4 * ranks, **common)]
                print(f"| {mean:g} s | {ranks} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |", flush=True)


def per_rank(ranks, duration, whole, latency, message, rounds=20, **more):
    """Returns evaluations per rank and time, as a share of the number without waiting (`whole` seconds each)."""
    _, end = simulate(ranks, rounds * ranks, duration, latency, message, **more)
    return rounds * whole / end


def stragglers(latency, message):
    whole = sum(SPATIAL[1]) / len(SPATIAL[1])
    print("\n| ranks | `gait.tasks` | batch = ranks / 4 | ranks | 4 ranks | asynchronous |\n|---|---|---|---|---|---|")
    for ranks in (8, 64):
        for parts, times in SPATIAL.items():
            common = {"latency": latency, "message": message, "parts": parts, "whole": whole}
            measured = lambda chance, times=times: chance.choice(times)
            cells = [per_rank(ranks, measured, batch=batch, **common) for batch in (ranks // 4, ranks, 4 * ranks)]
            cells.append(per_rank(ranks, measured, batch=2 * ranks, asynchronous=True, **common))
            print(f"| {ranks} | {parts} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    print("\n| slow ranks of 64 | by | `study.speculate-after` | batch = ranks | 4 ranks | asynchronous |\n|---|---|---|---|---|---|")
    for count, factor in ((0, 1), (1, 3), (4, 3), (1, 30), (4, 30)):
        for copy_after in (math.inf, 3, 2):
            slow = {16 * i + 5: factor for i in range(count)}
            common = {"latency": latency, "message": message, "slow": slow, "copy_after": copy_after, "whole": whole}
            measured = lambda chance: chance.choice(SPATIAL[1])
            cells = [per_rank(64, measured, batch=64, **common), per_rank(64, measured, batch=256, **common),
                     per_rank(64, measured, batch=128, asynchronous=True, **common)]
            after = "none" if copy_after == math.inf else copy_after
            print(f"| {count} | {factor} | {after} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |", flush=True)


# configs/knee-spatial.cfg at 24 knees over the range: processor seconds of `dodyn solve`, by the number of parts of the
# evaluation of 8 starts. A part has 8, 4 or 2 starts (`gait.initial-guesses`).
SPATIAL = {
    1: [0.83, 0.85, 1.03, 1.09, 1.12, 1.12, 1.14, 1.23, 1.25, 1.32, 1.46, 1.52, 1.55, 1.63, 1.64, 1.80, 1.88, 1.98, 2.09, 2.38, 2.39,
        2.52, 3.79, 4.73],
    2: [0.62, 0.65, 0.66, 0.68, 0.68, 0.71, 0.72, 0.74, 0.83, 0.83, 0.89, 1.05, 1.28, 1.31, 1.31, 1.41, 1.51, 1.54, 1.72, 1.85, 1.92,
        2.17, 2.26, 2.44],
    4: [0.49, 0.50, 0.50, 0.50, 0.52, 0.54, 0.54, 0.56, 0.62, 0.69, 0.69, 0.75, 0.83, 0.93, 0.95, 0.99, 1.14, 1.43, 1.45, 1.65, 1.70,
        2.05, 2.14, 2.77],
}
# s a commit, s a row: processor seconds of bench/archive_append
ARCHIVES = {"without trajectories": (0.95e-3, 5e-6), "with those of a gait, packed by the ranks": (1.6e-3, 1.2e-4),
            "with those of a gait, packed by rank 0, as before": (1.5e-3, 3.8e-4)}
if __name__ == "__main__":
    main()
