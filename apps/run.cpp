// dodyn run: the whole study, alone or under mpirun. Rank 0 runs the loop and talks; the other ranks evaluate.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>

#include "command.hpp"
#include "farm/farm.hpp"
#include "progress.hpp"
#include "study/report.hpp"
#include "study/study.hpp"
#include "version.hpp"

namespace dodyn::apps {
namespace {

// The first signal asks the study to stop after the evaluations that run; the second one kills as ever.
std::atomic<bool> stop_asked = false;
void ask_to_stop(int) { stop_asked = true; }

void listen_to_signals() {
  struct sigaction action = {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

archive::Provenance provenance(const Invocation& call, int ranks) {
  archive::Provenance where;
  where.program_version = version;
  where.git_commit = git_commit;
  where.command_line = "dodyn run";
  for (const auto& word : call.words) where.command_line += " " + word;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  where.host = host;
  where.ranks = ranks;
  return where;
}

ExitCode lead(const study::Settings& settings, const study::Evaluator& evaluator, surrogate::Strategy& strategy,
              farm::Farm& farm, archive::Provenance where) {
  const std::string path = settings.text("study.archive");
  ProgressLine line(stderr);
  study::Study study(settings, evaluator, strategy, farm, std::move(where), stop_asked,
                     [&](const study::Tally& tally) { line.show(study::progress_text(tally, settings.variables)); });
  const study::Summary summary = study.run();
  line.end();
  std::cout << path << ": "
            << (summary.was_finished  ? "this study had finished already: "
                : summary.interrupted ? "stopped, the same command continues: "
                                      : "finished: ")
            << summary.reason << "\n"
            << summary.evaluated << " evaluations now, " << summary.recalled << " from the archive\n"
            << study::best_text(summary.best ? &*summary.best : nullptr, settings.variables);
  return summary.interrupted ? interrupted : finished;
}

}  // namespace

ExitCode run(Invocation call) {
  const farm::Session session(call.argc, call.argv);
  listen_to_signals();
  // Every rank reads the same settings and comes to the same verdict; rank 0 alone says it. Nothing may leave this
  // function while the session lives but its exit code.
  try {
    const archive::Provenance where = provenance(call, session.size());
    const std::string path = take_path(call.words, "dodyn run CONFIG [--key value ...]");
    const study::Settings settings = study::read_settings(path, call.words);
    const auto strategy = study::make_strategy(settings);
    const std::shared_ptr<const study::Evaluator> evaluator = study::make_evaluator(settings);
    const Work work = study::make_work(evaluator);
    if (session.rank() > 0) {
      farm::serve(session, work);
      return finished;
    }
    const auto farm = farm::make_mpi_farm(session, work);
    return lead(settings, *evaluator, *strategy, *farm, where);
  } catch (const study::ConfigError& error) {
    if (session.rank() == 0) std::cerr << "dodyn: " << error.what() << "\n";
    return refused;
  } catch (const std::exception& error) {
    std::cerr << "dodyn: " << error.what() << "\n";
    return failure;
  }
}

}  // namespace dodyn::apps
