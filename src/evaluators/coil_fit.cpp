#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "evaluators/kinds.hpp"
#include "record/text.hpp"
#include "rigid/coils.hpp"
#include "settings/ini.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {
namespace {

struct CoilFitSettings {
  rigid::Coil coil;
  double least = 0.15, most = 0.55;       // distance of the centres, m
  double angle = 0.2 * std::numbers::pi;  // largest |phi1| and |phi2|, rad
  double weight = 4.0;
  std::string table;
};

// Size of the sample grid: number of distances; number of bearings, equal to the number of attitudes.
constexpr int distances = 17, angles = 9;

const KeyTable<CoilFitSettings>& coil_fit_keys() {
  using S = CoilFitSettings;
  const auto coil = members_of(&S::coil);
  static const auto table =
      KeyTable<S>("coil-fit.")
          .add("poles", coil(&rigid::Coil::discs), {{"points", false}, {"discs", true}},
               {.description = "magnetic poles of a core; points: in the middles of its ends; discs: spread over them"})
          .add("min-distance", &S::least, number(above(0, 1e3), "m", "smallest distance of the centres of the cores"))
          .add("max-distance", &S::most, number(above(0, 1e3), "m", "largest distance of the centres of the cores"))
          .add("angle", &S::angle, number(above(0, 180), "deg", "largest bearing and largest attitude, to either side"))
          .add("weight", &S::weight,
               number(from(0, 16), "1",
                      "residuals are multiplied by this power of the distance; 0: not weighted; 4: far "
                      "samples count like near ones"))
          .add("table", &S::table,
               {.type = Type::path, .description = "CSV file of coefficients to compare with; empty: none"});
  return table;
}

const std::array<const char*, 6> coefficient_names = {"A_x", "B_x", "A_y", "B_y", "A_theta", "B_theta"};
const std::array<const char*, 3> wrench_names = {"f_x", "f_y", "torque"};

// Relative residuals of the components, mean |difference| divided by mean |value|, below and above the middle distance.
struct Residuals {
  std::array<double, 3> near{}, far{};
};

class CoilFitEvaluator final : public Evaluator {
 public:
  explicit CoilFitEvaluator(const Settings& settings)
      : own_(coil_fit_keys().read(settings)), table_name_(settings.text("coil-fit.table")) {
    if (!(own_.least < own_.most))
      throw settings.error("coil-fit.min-distance", "is not below coil-fit.max-distance; choose a smaller one");
    // Forces are unbounded if the ends of two cores meet. At each pair of angles the ends are nearest at the minimum
    // distance of the centres.
    const double half = 0.5 * own_.coil.length;
    for (int i = 0; i < angles; ++i)
      for (int k = 0; k < angles; ++k) {
        const double a = angle(i), b = angle(k), x = own_.least * std::cos(a), y = own_.least * std::sin(a);
        for (const double one : {half, -half})
          for (const double other : {half, -half})
            if (std::hypot(x + other * std::cos(b) - one, y + other * std::sin(b)) < 0.5 * own_.coil.diameter)
              throw settings.error(
                  "coil-fit.min-distance",
                  formatted("at this distance the ends of two cores meet; choose a larger one, such as %g m",
                            own_.coil.length + own_.coil.diameter));
      }
    if (!own_.table.empty()) {
      try {
        text_ = ini::read_file(own_.table);
        printed_ = rigid::read_coil_form(text_);
      } catch (const ConfigError& error) {
        throw settings.error("coil-fit.table", error.what());
      } catch (const std::invalid_argument& error) {
        throw settings.error("coil-fit.table", error.what());
      }
    }
  }

  std::vector<Quantity> metrics() const override {
    std::vector<Quantity> list;
    for (const char* where : {"near", "far"})
      for (const char* component : wrench_names)
        list.push_back({std::string(component) + "_" + where, "1",
                        std::string("mean error of ") + component + " over its mean size, in the " +
                            (std::string(where) == "near" ? "nearer" : "farther") + " half of the distances"});
    return list;
  }

  Channels channels() const override {
    Channel channel{"coefficients",
                    "",
                    "coefficients of the force law (B.1), for r in dm, N and N m; then those of coil-fit.table",
                    terms,
                    {}};
    channel.coordinates = {"phi1", "phi2"};
    for (const char* name : coefficient_names) channel.coordinates.emplace_back(name);
    if (!own_.table.empty())
      for (const char* name : coefficient_names) channel.coordinates.push_back(std::string(name) + " table");
    return {channel};
  }

  std::vector<InputFile> input_files() const override {
    if (text_.empty()) return {};
    return {{"coil-fit.table-checksum", checksum(text_), table_name_, text_}};
  }

  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    Evaluation& e = outcome.evaluation;
    const auto samples = sampled();
    rigid::CoilForm form;
    try {
      form = rigid::fit_coil_form(samples, own_.weight);
    } catch (const std::invalid_argument& error) {
      e.status = Status::infeasible;
      e.reason = error.what();
      return outcome;
    }
    const Residuals found = residuals(form, samples);
    e.status = Status::ok;
    e.metrics.resize(6);
    for (int c = 0; c < 3; ++c) {
      e.metrics[c] = found.near[c];
      e.metrics[3 + c] = found.far[c];
    }
    e.cost = std::max(e.metrics.head<2>().maxCoeff(), e.metrics.segment<2>(3).maxCoeff());
    Eigen::MatrixXd table(terms, own_.table.empty() ? 8 : 14);
    for (int i = 0; i < terms; ++i) {
      const auto& power = rigid::CoilForm::powers()[i];
      table.row(i).head<2>() << power[0], power[1];
      table.row(i).segment<6>(2) = form.coefficients.row(i);
      if (!own_.table.empty()) table.row(i).tail<6>() = printed_.coefficients.row(i);
    }
    outcome.trajectory.values = {std::move(table)};
    return outcome;
  }

  std::string report(const Outcome& outcome) const override {
    const auto& m = outcome.evaluation.metrics;
    if (m.size() != 6 || outcome.trajectory.values.empty()) return {};
    std::string lines =
        formatted("poles           %.4g A m, %s; %d distances, %d x %d angles\n", own_.coil.pole_strength(),
                  own_.coil.discs ? "discs" : "points", distances, angles, angles);
    const auto shares = [&](const char* name, const Residuals& r) {
      lines += formatted("%-15s f_x %.3g, f_y %.3g, torque %.3g near; %.3g, %.3g, %.3g far\n", name, r.near[0],
                         r.near[1], r.near[2], r.far[0], r.far[1], r.far[2]);
    };
    shares("error of the fit", {{m[0], m[1], m[2]}, {m[3], m[4], m[5]}});
    if (own_.table.empty()) return lines;
    const auto samples = sampled();
    shares("of the table", residuals(printed_, samples));
    const auto& table = outcome.trajectory.values[0];
    lines += "coefficients    fitted (table)\n  phi1 phi2";
    for (const char* name : coefficient_names) lines += formatted("  %23s", name);
    lines += "\n";
    for (int i = 0; i < terms; ++i) {
      lines += formatted("  %4.0f %4.0f", table(i, 0), table(i, 1));
      for (int k = 0; k < 6; ++k) lines += formatted("  %11.4e(%10.3e)", table(i, 2 + k), table(i, 8 + k));
      lines += "\n";
    }
    return lines;
  }

 private:
  static constexpr int terms = rigid::CoilForm::terms;

  double angle(int i) const { return own_.angle * (2.0 * i / (angles - 1) - 1.0); }

  std::vector<rigid::CoilSample> sampled() const {
    std::vector<rigid::CoilSample> samples;
    for (int d = 0; d < distances; ++d)
      for (int i = 0; i < angles; ++i)
        for (int k = 0; k < angles; ++k) {
          const double r = own_.least + d * (own_.most - own_.least) / (distances - 1);
          samples.push_back({r, angle(i), angle(k), rigid::pole_wrench(own_.coil, r, angle(i), angle(k))});
        }
    return samples;
  }

  Residuals residuals(const rigid::CoilForm& form, const std::vector<rigid::CoilSample>& samples) const {
    Residuals found;
    for (int c = 0; c < 3; ++c)
      for (const bool near : {true, false}) {
        // the mean over distances, since the forces differ by orders of magnitude between distances
        double share = 0.0;
        int count = 0;
        for (int d = 0; d < distances; ++d) {
          const double r = own_.least + d * (own_.most - own_.least) / (distances - 1);
          if ((r < 0.5 * (own_.least + own_.most)) != near) continue;
          double error = 0.0, size = 0.0;
          for (int i = 0; i < angles * angles; ++i) {
            const auto& s = samples[d * angles * angles + i];
            error += std::abs(form(s.r, s.phi1, s.phi2)[c] - s.wrench[c]);
            size += std::abs(s.wrench[c]);
          }
          share += error / size;
          ++count;
        }
        (near ? found.near : found.far)[c] = share / count;
      }
    return found;
  }

  CoilFitSettings own_;
  std::string table_name_, text_;
  rigid::CoilForm printed_;
};

}  // namespace

EvaluatorKind coil_fit_kind() {
  EvaluatorKind kind;
  kind.name = "coil-fit";
  kind.description =
      "fits the force law (B.1) (docs/electromagnets.md) to the forces between two electromagnets; cost: error of the "
      "fit";
  kind.variables = always({});
  kind.keys = coil_fit_keys().keys();
  kind.make = make<CoilFitEvaluator>;
  return kind;
}

}  // namespace dodyn::evaluators
