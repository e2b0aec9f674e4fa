"""How the farm would do on more ranks than there are here: a simulation, event by event, of what rank 0 does.

    bench/farm_simulation.py            fits, checks, and prints the tables of docs/measured/farm.md

The model: N ranks, rank 0 one of them. A worker that ends an evaluation is idle for `latency` seconds, half of it until rank 0 has its
answer, half until it has the next task; in between, rank 0 spends `message` seconds on the pair, one after the other in the order
in which they come. What has arrived is archived in one commit of at most 256 rows, which takes `commit` + `row` seconds a row, by
another thread; the strategy is told after that. Synchronous: a batch is asked when the one before is told as a whole.
Asynchronous: each row that is told asks for one more. Nothing is fitted to what the tables then say: `message` is the one over the
measured rate of messages, `commit` and `row` come from bench/archive_append, `latency` from one measured efficiency.
"""
import heapq
import math
import random

MOST_ROWS = 256  # in one commit


def simulate(ranks, tasks, duration, latency, message, commit=0.0, row=0.0, batch=None, asynchronous=False, seed=1):
    """Of `tasks` evaluations when each began and ended, and when the study had been told of all. Without a batch all are asked at
    once."""
    chance = random.Random(seed)
    events, order = [], 0  # (time, order, what, rank)
    now = master = 0.0  # when rank 0 has time for the next message
    runs = []
    idle = list(range(ranks - 1, -1, -1))
    queue, asked, told = 0, 0, 0
    rows, writing = 0, 0

    def push(time, what, rank=0):
        nonlocal order
        order += 1
        heapq.heappush(events, (time, order, what, rank))

    def ask(count):
        nonlocal queue, asked
        count = min(count, tasks - asked)
        asked += count
        queue += count

    def hand_out(begin):
        nonlocal queue, master
        while queue and idle:
            rank = idle.pop()
            queue -= 1
            seconds = duration(chance)
            start = begin
            if rank > 0:
                master = max(master, begin) + message
                start = master + latency / 2
            runs.append((start, start + seconds))
            push(start + seconds, "end", rank)

    def write(begin):
        nonlocal rows, writing
        if writing or not rows:
            return
        writing = min(rows, MOST_ROWS)
        rows -= writing
        push(begin + commit + row * writing, "written")

    ask(batch or tasks)
    hand_out(0.0)
    while told < tasks:
        now, _, what, rank = heapq.heappop(events)
        if what == "end":
            push(now + (latency / 2 if rank else 0.0), "arrived", rank)
        elif what == "arrived":
            idle.append(rank)
            rows += 1
            write(now)
            hand_out(now)
        else:
            told += writing
            if asynchronous:
                ask(writing)
            elif batch and told == asked:
                ask(batch)
            writing = 0
            write(now)
            hand_out(now)
    return runs, now


def efficiency(ranks, rounds, duration, until_the_last=False, **more):
    """Share of the ranks' time in which they evaluate: of the whole run, or until the last evaluation begins."""
    runs, end = simulate(ranks, rounds * ranks, duration, **more)
    if until_the_last:
        end = max(begin for begin, _ in runs)
    return sum(min(stop, end) - min(start, end) for start, stop in runs) / (ranks * end)


def constant(mean):
    return lambda chance: mean


def heavy(mean):
    """Log-normal, as long as its mean in standard deviation: one in a hundred takes 4.9 times the mean."""
    sigma = math.sqrt(math.log(2))
    return lambda chance: mean * math.exp(sigma * chance.gauss(0, 1) - sigma * sigma / 2)


def main():
    # docs/scaling.md, the quiet machine: messages a second of 64 ranks; efficiency of 0.1 s on 64 ranks, 100 evaluations each.
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


# s a commit, s a row: processor seconds of bench/archive_append
ARCHIVES = {"without trajectories": (0.95e-3, 5e-6), "with those of a gait, packed by the ranks": (1.6e-3, 1.2e-4),
            "with those of a gait, packed by rank 0, as before": (1.5e-3, 3.8e-4)}
if __name__ == "__main__":
    main()
