#include "evaluators/motion/contacts.hpp"

#include <algorithm>
#include <cmath>

#include "dmoc/penalty.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

dmoc::ContactEvent contact_event(const PhasedMotion& motion, const MotionContact& c, const MotionValues& values) {
  const auto& model = motion.system->model();
  dmoc::ContactEvent event;
  event.event = c.phase;
  event.point = c.point;
  event.part = c.part;
  event.shape = c.shape;
  if (c.edges) {
    event.outward = {0, 0, 0};  // the normal turns with the edges
  } else if (c.side) {
    event.outward = *c.side;
  } else {
    const auto& outward = *model.shapes[c.shape].outward;
    double length = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
      event.outward[i] = systems::Model::at(outward[i], values.model.numbers).value;
      length += event.outward[i] * event.outward[i];
    }
    for (double& x : event.outward) x /= std::sqrt(length);
  }
  event.restitution = values.evaluated(c.restitution);
  event.sticks = c.sticks;
  event.slides = c.slides;
  event.stays = c.stays;
  if (c.friction) event.friction = values.evaluated(*c.friction);
  return event;
}

std::pair<double, double> bounce(const PhasedMotion& motion, const MotionContact& contact,
                                 const Eigen::VectorXd& design) {
  const MotionValues all = motion_values(motion, design);
  const double friction = contact.friction ? all.evaluated(*contact.friction).value : contact.sticks ? 1e6 : 0.0;
  return {all.evaluated(contact.restitution).value, friction};
}

std::pair<int, int> links_of(const PhasedMotion& motion, const MotionContact& c) {
  const auto& model = motion.system->model();
  return {c.point >= 0 ? model.structure.named_points[c.point].place.link : model.shapes[c.part].link,
          model.shapes[c.shape].link};
}

void add_penalties(PhasedMotion& motion) {
  const MotionValues all = motion_values(motion, middle_design(motion));
  const auto numbers = autodiff::values_of(all.model.numbers);
  std::vector<dmoc::Energy> energies;
  for (const MotionContact& c : motion.contacts) {
    const auto complain = [&](const std::string& what) {
      throw ConfigError(motion.settings.file + ": [contact " + c.name + "]: " + what +
                        "; motion.contact = penalty allows only law = restitution 1");
    };
    if (c.edges) complain("a penalty does not act on edges");
    if (c.sticks || c.friction) complain("a penalty has no friction, and nothing sticks");
    if (const double e = all.evaluated(c.restitution).value; e != 1.0)
      complain(formatted("a penalty loses no energy, but restitution is %g", e));
    energies.push_back(dmoc::penalty(motion.system->model(), numbers, contact_event(motion, c, all), motion.penalty,
                                     motion.keys.width));
  }
  if (motion.contacts.empty()) return;
  motion.system = std::make_shared<const dmoc::System>(motion.system->model(), motion.system->directors(),
                                                       std::move(energies), motion.keys.order);
}

Eigen::VectorXd depths(const PhasedMotion& motion, const MotionContact& contact, const Eigen::VectorXd& design,
                       const Eigen::MatrixXd& q) {
  const MotionValues all = motion_values(motion, design);
  const auto numbers = autodiff::values_of(all.model.numbers);
  const dmoc::ContactEvent event = contact_event(motion, contact, all);
  Eigen::VectorXd depths(q.rows());
  for (Eigen::Index k = 0; k < q.rows(); ++k) {
    const auto heights =
        dmoc::heights(*motion.system, numbers, event, motion.system->no_reference(), q.row(k).transpose());
    depths(k) = -*std::ranges::min_element(heights);
  }
  return depths;
}

std::vector<TouchingFeature> touching(const PhasedMotion& motion, const MotionValues& values, const MotionPath& path) {
  std::vector<TouchingFeature> all;
  if (motion.penalty > 0.0) return all;
  const auto numbers = autodiff::values_of(values.model.numbers);
  for (const MotionContact& c : motion.contacts) {
    const Eigen::VectorXd q = path.q[c.phase].bottomRows(1).transpose();
    const dmoc::ContactEvent event = contact_event(motion, c, values);
    TouchingFeature& one = all.emplace_back();
    if (c.edges) {
      one.edges = dmoc::edges_at(*motion.system, numbers, event, motion.system->no_reference(), q).first;
    } else if (c.part >= 0) {
      const auto heights = dmoc::heights(*motion.system, numbers, event, motion.system->no_reference(), q);
      one.corner = std::ranges::min_element(heights) - heights.begin();
    }
  }
  return all;
}

// Moves q by up to three Newton steps along the gradient of the height, which is the smallest change that closes the
// gap. Changes only the coordinates of sliding joints.
void touch(const PhasedMotion& motion, const MotionContact& contact, const MotionValues& values, Eigen::VectorXd& q) {
  const auto numbers = autodiff::values_of(values.model.numbers);
  const dmoc::ContactEvent event = contact_event(motion, contact, values);
  const auto height = [&](const Eigen::VectorXd& at) {
    if (contact.edges) return dmoc::edges_at(*motion.system, numbers, event, motion.system->no_reference(), at).second;
    const auto all = dmoc::heights(*motion.system, numbers, event, motion.system->no_reference(), at);
    return *std::ranges::min_element(all);
  };
  for (int iteration = 0; iteration < 3; ++iteration) {
    const double now = height(q);
    Eigen::VectorXd slope = Eigen::VectorXd::Zero(q.size());
    for (const auto& link : motion.system->structure().links)
      for (std::size_t i = 0; i < link.moves.size(); ++i) {
        if (link.moves[i].kind != systems::Move::slide) continue;
        const int c = link.first + static_cast<int>(i);
        slope(c) = height(q + 1e-6 * Eigen::VectorXd::Unit(q.size(), c)) - now;
      }
    slope *= 1e6;
    if (slope.squaredNorm() < 1e-12) return;
    q -= now / slope.squaredNorm() * slope;
  }
}

void add_contacts(const PhasedMotion& motion, TranscribedMotion& planned, const MotionValues& values,
                  const MotionPath& path) {
  dmoc::MotionProblem& problem = planned.problem;
  const auto next = [&problem] { return problem.problem().add_rows(0, 0.0, 0.0); };
  for (std::size_t i = 0; i < motion.contacts.size() && motion.penalty == 0.0; ++i) {
    dmoc::ContactEvent event = contact_event(motion, motion.contacts[i], values);
    event.corner = path.touching[i].corner;
    event.edges = path.touching[i].edges;
    if (event.slides) {
      using systems::operator-;
      const auto seen = [&](const auto& row) {
        return dmoc::seen_from_face(*motion.system, autodiff::values_of(values.model.numbers), event,
                                    motion.system->no_reference(), row.transpose())[std::max(event.corner, 0)];
      };
      // From end to end, because initial guesses bend the path between
      event.way = seen(path.q.back().bottomRows(1)) - seen(path.q.front().topRows(1));
    }
    planned.asked.emplace_back(next(), "[contact " + motion.contacts[i].name + "]");
    planned.begin.push_back(add_contact(problem, event));
  }
  for (const CutPhase& whole : motion.cut_phases) {
    planned.asked.emplace_back(next(), "duration of [phase " + motion.phases[whole.first].name + "]");
    const int row = problem.problem().add_rows(1, values.evaluated(whole.shortest), values.evaluated(whole.longest));
    for (int i = whole.first; i < whole.first + whole.count; ++i)
      problem.problem().add_linear(row, problem.index(i).duration, 1.0);
  }
}

}  // namespace dodyn::evaluators
