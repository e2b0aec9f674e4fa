// Planned contacts: they cut a phase into pieces, choose the touching corner or edges, and bounce.
#include <algorithm>
#include <cmath>

#include "dmoc/penalty.hpp"
#include "evaluators/motion/design.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

std::vector<MotionDesigns::Cut> MotionDesigns::cuts_of(const CustomSection& phase, int intervals) const {
  const auto phases = settings_.sections_of("phase");
  std::vector<Cut> all;
  for (const CustomSection* section : settings_.sections_of("contact")) {
    const CustomEntry *in = section->find("phase"), *at = section->find("node"), *release = section->find("release");
    if (!in && phases.size() > 1) throw section->error("needs phase = PHASE, since there are several");
    if (in) {
      std::vector<std::string> names;
      for (const CustomSection* p : phases) names.push_back(p->name);
      if (std::find(names.begin(), names.end(), in->value) == names.end())
        throw in->error("there is no [phase " + in->value + "]" + did_you_mean(in->value, names));
      if (in->value != phase.name) continue;
    }
    const auto read = [&](const CustomEntry& entry, int first) {
      const Expression e = expression(entry, entry.value);
      const double node = e.is_constant() ? e.constant() : 0.0;
      if (node != std::round(node) || node < first || node > intervals - 1)
        throw entry.error(formatted("is not a node inside [phase %s]; allowed: an integer in [%d, %d]",
                                    phase.name.c_str(), first, intervals - 1));
      return static_cast<int>(node);
    };
    all.push_back({read(*at, 1), section, false});
    if (release) all.push_back({read(*release, all.back().node + 1), section, true});
  }
  std::stable_sort(all.begin(), all.end(), [](const Cut& a, const Cut& b) { return a.node < b.node; });
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].node == all[i - 1].node)
      throw all[i].contact->error(formatted("is at node %d, as [contact %s] is; allowed: one contact at a node",
                                            all[i].node, all[i - 1].contact->name.c_str()));
  return all;
}

void MotionDesigns::read_contact(const CustomSection& section, int phase) {
  const auto& model = system_->model();
  Contact contact;
  contact.name = section.name;
  contact.phase = phase;
  const CustomEntry *where = section.find("touch"), *law = section.find("law");
  if (!contacts_.empty() && contacts_.back().stays && contacts_.back().phase + 1 == phase)
    throw section.error("[contact " + contacts_.back().name +
                        "] stays until then; allowed: one contact at a time, the next after its release = NODE");
  std::vector<std::string> names;
  auto parts = split_list(where->value);
  if (!parts.empty() && parts[0].starts_with("edges ")) {
    contact.edges = true;
    parts[0] = parts[0].substr(parts[0].find_first_not_of(' ', 6));
    if (model.dimension == 2) throw where->error("edges meet in space; in the plane a corner touches a side");
  }
  if (parts.size() != 2)
    throw where->error(
        "allowed: POINT, SHAPE or POINT, SHAPE +x (-x, +y, -y, +z, -z); a SHAPE in the place of POINT: "
        "its lowest corner; edges SHAPE, SHAPE: an edge of each");
  const auto& points = model.structure.named_points;
  for (const auto& p : points) names.push_back(p.name);
  for (const auto& p : model.shapes) names.push_back(p.name);
  const auto point = std::find(names.begin(), names.end(), parts[0]);
  if (point == names.end())
    throw where->error("there is no [point " + parts[0] + "] or [shape " + parts[0] + "]" +
                       did_you_mean(parts[0], names));
  const int index = static_cast<int>(point - names.begin()), count = static_cast<int>(points.size());
  (index < count ? contact.point : contact.part) = index < count ? index : index - count;
  std::string shape = parts[1], side;
  if (const auto blank = shape.find(' '); blank != std::string::npos) {
    side = shape.substr(shape.find_first_not_of(' ', blank));
    shape.resize(blank);
  }
  names.clear();
  for (const auto& s : model.shapes) names.push_back(s.name);
  const auto at = std::find(names.begin(), names.end(), shape);
  if (at == names.end()) throw where->error("there is no [shape " + shape + "]" + did_you_mean(shape, names));
  contact.shape = static_cast<int>(at - names.begin());
  const auto& of = model.shapes[static_cast<std::size_t>(contact.shape)];
  if (contact.edges) {
    if (contact.part < 0 || !side.empty()) throw where->error("allowed after edges: SHAPE, SHAPE");
  } else if (side.empty()) {
    if (!of.outward)
      throw where->error("shape '" + shape + "' has no outward direction; allowed: " + shape +
                         " +x (-x, +y, ...), along the axes of its link");
  } else {
    const auto axis = side.size() == 2 ? std::string("xyz").find(side[1]) : std::string::npos;
    if (axis >= static_cast<std::size_t>(model.dimension) || (side[0] != '+' && side[0] != '-'))
      throw where->error("'" + side + "' is not a side; allowed: +x, -x, +y, -y" +
                         (model.dimension == 3 ? ", +z, -z" : ""));
    contact.side = std::array<double, 3>{};
    (*contact.side)[axis] = side[0] == '+' ? 1.0 : -1.0;
  }
  if ((contact.point >= 0 ? points[static_cast<std::size_t>(contact.point)].place.link
                          : model.shapes[static_cast<std::size_t>(contact.part)].link) == of.link)
    throw where->error("what touches and what is touched are of one link");

  bool bounces = false;
  if (law)
    for (const std::string& clause : split_list(law->value)) {
      if (clause.starts_with("restitution "))
        bounces = true, contact.restitution = expression(*law, clause.substr(12));
      else if (clause == "stick")
        contact.sticks = true;
      else if (clause == "slide")
        contact.slides = true;
      else if (clause == "stay")
        contact.sticks = contact.stays = true;
      else if (clause.starts_with("friction "))
        contact.friction = expression(*law, clause.substr(9));
      else
        throw law->error("'" + clause +
                         "' is not understood; allowed: restitution E, stick, slide, stay, friction MU, by commas");
    }
  if (contact.slides && contact.sticks)
    throw law->error("a point that sticks does not slide; allowed: restitution E, stick or slide, friction MU");
  if (contact.friction && !contact.sticks && !contact.slides)
    throw law->error(
        "friction holds a point that sticks, or brakes one that slides; allowed: restitution E, stick or slide, "
        "friction MU");
  if (contact.stays && contact.edges)
    throw law->error("edges do not stay on each other; allowed: restitution E, stick or slide");
  if (contact.slides && !contact.friction)
    throw law->error("what slides has no friction; allowed: restitution E, slide, friction MU");
  if (section.find("release") && !contact.stays)
    throw section.find("release")->error("lets go of what stays; allowed: with law = stay");
  if (contact.stays && !bounces) contact.restitution = 0.0;
  if (contact.stays && contact.restitution.is_constant() && contact.restitution.constant() != 0.0)
    throw law->error("what stays does not bounce; allowed: restitution 0, stay");
  contacts_.push_back(std::move(contact));
}

dmoc::ContactEvent MotionDesigns::contact_event(const Contact& c, const Values& values) const {
  const auto& model = system_->model();
  dmoc::ContactEvent event;
  event.event = c.phase;
  event.point = c.point;
  event.part = c.part;
  event.shape = c.shape;
  if (c.edges) {
    event.outward = {0, 0, 0};  // it turns with them
  } else if (c.side) {
    event.outward = *c.side;
  } else {
    const auto& outward = *model.shapes[static_cast<std::size_t>(c.shape)].outward;
    double length = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
      event.outward[i] = systems::Model::at(outward[i], values.model.numbers).value;
      length += event.outward[i] * event.outward[i];
    }
    for (double& x : event.outward) x /= std::sqrt(length);
  }
  event.restitution = evaluated(c.restitution, values);
  event.sticks = c.sticks;
  event.slides = c.slides;
  event.stays = c.stays;
  if (c.friction) event.friction = evaluated(*c.friction, values);
  return event;
}

std::pair<double, double> MotionDesigns::bounce(const Contact& contact, const Eigen::VectorXd& design) const {
  const Values all = values(design);
  const double friction = contact.friction ? evaluated(*contact.friction, all).value : contact.sticks ? 1e6 : 0.0;
  return {evaluated(contact.restitution, all).value, friction};
}

std::pair<int, int> MotionDesigns::links_of(const Contact& c) const {
  const auto& model = system_->model();
  return {c.point >= 0 ? model.structure.named_points[static_cast<std::size_t>(c.point)].place.link
                       : model.shapes[static_cast<std::size_t>(c.part)].link,
          model.shapes[static_cast<std::size_t>(c.shape)].link};
}

void MotionDesigns::penalise() {
  const Values all = values(middle());
  const auto numbers = autodiff::values_of(all.model.numbers);
  std::vector<dmoc::Energy> energies;
  for (const Contact& c : contacts_) {
    const auto complain = [&](const std::string& what) {
      throw ConfigError(settings_.file + ": [contact " + c.name + "]: " + what +
                        "; allowed with motion.contact = penalty: restitution 1, and that alone");
    };
    if (c.edges) complain("a penalty pushes corners, and no edges");
    if (c.sticks || c.friction) complain("a penalty pushes along the normal and nothing sticks");
    if (const double e = evaluated(c.restitution, all).value; e != 1.0)
      complain(formatted("a penalty gives back what it takes, restitution is %g", e));
    energies.push_back(dmoc::penalty(system_->model(), numbers, contact_event(c, all), stiffness_,
                                     settings_.real("motion.contact-width")));
  }
  if (contacts_.empty()) return;
  system_ =
      std::make_shared<const dmoc::System>(system_->model(), system_->directors(), std::move(energies), keys_.order);
}

Eigen::VectorXd MotionDesigns::depths(const Contact& contact, const Eigen::VectorXd& design,
                                      const Eigen::MatrixXd& q) const {
  const Values all = values(design);
  const auto numbers = autodiff::values_of(all.model.numbers);
  const dmoc::ContactEvent event = contact_event(contact, all);
  Eigen::VectorXd depths(q.rows());
  for (Eigen::Index k = 0; k < q.rows(); ++k) {
    const auto heights = dmoc::heights(*system_, numbers, event, system_->no_reference(), q.row(k).transpose());
    depths(k) = -*std::min_element(heights.begin(), heights.end());
  }
  return depths;
}

std::vector<Touching> MotionDesigns::touching(const Values& values, const MotionPath& path) const {
  std::vector<Touching> all;
  if (stiffness_ > 0.0) return all;
  const auto numbers = autodiff::values_of(values.model.numbers);
  for (const Contact& c : contacts_) {
    const Eigen::VectorXd q = path.q[static_cast<std::size_t>(c.phase)].bottomRows(1).transpose();
    const dmoc::ContactEvent event = contact_event(c, values);
    Touching& one = all.emplace_back();
    if (c.edges) {
      one.edges = dmoc::edges_at(*system_, numbers, event, system_->no_reference(), q).first;
    } else if (c.part >= 0) {
      const auto heights = dmoc::heights(*system_, numbers, event, system_->no_reference(), q);
      one.corner = static_cast<int>(std::min_element(heights.begin(), heights.end()) - heights.begin());
    }
  }
  return all;
}

// By the least change of slides, along the gradient of the height.
void MotionDesigns::touch(const Contact& contact, const Values& values, Eigen::VectorXd& q) const {
  const auto numbers = autodiff::values_of(values.model.numbers);
  const dmoc::ContactEvent event = contact_event(contact, values);
  const auto height = [&](const Eigen::VectorXd& at) {
    if (contact.edges) return dmoc::edges_at(*system_, numbers, event, system_->no_reference(), at).second;
    const auto all = dmoc::heights(*system_, numbers, event, system_->no_reference(), at);
    return *std::min_element(all.begin(), all.end());
  };
  for (int iteration = 0; iteration < 3; ++iteration) {
    const double now = height(q);
    Eigen::VectorXd slope = Eigen::VectorXd::Zero(q.size());
    for (const auto& link : system_->structure().links)
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

void MotionDesigns::add_contacts(TranscribedMotion& planned, const Values& values, const MotionPath& path) const {
  dmoc::MotionProblem& problem = planned.problem;
  const auto next = [&problem] { return problem.problem().add_rows(0, 0.0, 0.0); };
  for (std::size_t i = 0; i < contacts_.size() && stiffness_ == 0.0; ++i) {
    dmoc::ContactEvent event = contact_event(contacts_[i], values);
    event.corner = path.touching[i].corner;
    event.edges = path.touching[i].edges;
    if (event.slides) {
      using systems::operator-;
      const auto seen = [&](const auto& row) {
        return dmoc::seen_from_face(*system_, autodiff::values_of(values.model.numbers), event, system_->no_reference(),
                                    row.transpose())[static_cast<std::size_t>(std::max(event.corner, 0))];
      };
      event.way = seen(path.q.back().bottomRows(1)) - seen(path.q.front().topRows(1));  // starts are bent in between
    }
    planned.asked.emplace_back(next(), "[contact " + contacts_[i].name + "]");
    planned.begin.push_back(add_contact(problem, event));
  }
  for (const Whole& whole : wholes_) {
    planned.asked.emplace_back(next(),
                               "duration of [phase " + phases_[static_cast<std::size_t>(whole.first)].name + "]");
    const int row = problem.problem().add_rows(1, evaluated(whole.shortest, values), evaluated(whole.longest, values));
    for (int i = whole.first; i < whole.first + whole.count; ++i)
      problem.problem().add_linear(row, problem.index(i).duration, 1.0);
  }
}

}  // namespace dodyn::evaluators
