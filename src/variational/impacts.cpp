// The jumps of the hybrid integrator (hybrid.hpp): impacts, resets, and the choice of the contacts that are held
// afterwards.
#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "variational/constraint_forces.hpp"

namespace dodyn::variational {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Enumerates the combinations of the possible states of several contacts.
struct HybridIntegrator::Combinations {
  struct Choice {
    ContactState contact_state;
    int direction;
  };
  std::vector<std::size_t> contacts;
  std::vector<std::vector<Choice>> choices;  // possible states of each contact
  std::vector<std::size_t> at;               // index of the chosen state of each contact

  void add(std::size_t contact, std::vector<Choice> possible) {
    contacts.push_back(contact);
    choices.push_back(std::move(possible));
  }
  std::size_t size() const { return contacts.size(); }
  void first() { at.assign(size(), 0); }
  // Advances to the next combination; returns false after the last.
  bool next() {
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < choices[i].size()) return true;
      at[i] = 0;
    }
    return false;
  }
  const Choice& chosen(std::size_t j) const { return choices[j][at[j]]; }
};

// Returns the contacts that are latched, or closed with a gap rate of at most `slow` (m/s), and their possible states.
// Sets all contacts of `mode` to open. Fills the slip speeds (m/s) and the anchors of contacts with friction.
HybridIntegrator::Combinations HybridIntegrator::resting_contacts(const Rows& rows, const VectorXd& v, double slow,
                                                                  Mode& mode, std::vector<double>& slips) const {
  const std::size_t count = assembly_.contacts.size();
  mode.states.assign(count, ContactState::open);
  mode.slip_directions.assign(count, 0);
  mode.anchors.assign(count, 0.0);
  slips.assign(count, 0.0);
  Combinations found;
  for (std::size_t i = 0; i < count; ++i) {
    const Contact& contact = assembly_.contacts[i];
    const bool latched = contact.latch && now_.mode.states[i] != ContactState::open;
    if (!latched && (rows.value(contact.gap) > closed || std::abs(rows.gradient.row(contact.gap).dot(v)) > slow))
      continue;
    std::vector<Combinations::Choice> choices;
    if (contact.slip < 0 || contact.friction == 0.0) {
      choices = {{ContactState::slide, 0}};
    } else {
      slips[i] = rows.gradient.row(contact.slip).dot(v);
      mode.anchors[i] = rows.value(contact.slip);
      if (std::abs(slips[i]) > slow)
        choices = {{ContactState::slide, slips[i] > 0.0 ? 1 : -1}};
      else
        choices = {{ContactState::stick, 0}, {ContactState::slide, 1}, {ContactState::slide, -1}};
    }
    if (!contact.latch) choices.push_back({ContactState::open, 0});
    found.add(i, std::move(choices));
  }
  return found;
}

// Returns whether normal forces push, friction of sticking contacts is within its cone, sliding contacts slip in their
// direction, and open contacts do not close.
bool HybridIntegrator::forces_are_admissible(const Combinations& touching, const Rows& rows, const VectorXd& v,
                                             const ActiveRows& h, const std::vector<double>& slips, double slow) const {
  const ConstraintForces b = constraint_forces(mechanics_, h, now_.q, v);
  const double noise = force_noise * b.scale;
  const auto lambda = [&](int row) {
    for (std::size_t k = 0; k < h.rows.size(); ++k)
      if (h.rows[k] == row) return b.lambda(k);
    return 0.0;
  };
  const auto acceleration = [&](int row) { return rows.gradient.row(row).dot(b.acceleration) + b.curvature(row); };
  const double lightest = mechanics_.mass(now_.q).diagonal().minCoeff();
  for (std::size_t j = 0; j < touching.size(); ++j) {
    const Contact& contact = assembly_.contacts[touching.contacts[j]];
    const auto& [contact_state, direction] = touching.chosen(j);
    const double small = noise * (1.0 + rows.gradient.row(contact.gap).squaredNorm() / lightest);
    if (contact_state == ContactState::open) {
      if (!(acceleration(contact.gap) >= -small)) return false;
      continue;
    }
    if (contact.latch) continue;
    const double normal = lambda(contact.gap);
    if (!(normal >= -noise)) return false;
    if (contact_state == ContactState::stick && !(std::abs(lambda(contact.slip)) <= contact.friction * normal + noise))
      return false;
    if (direction != 0 && std::abs(slips[touching.contacts[j]]) <= slow &&
        !(direction * acceleration(contact.slip) >= -small))
      return false;
  }
  return true;
}

// Selects which closed contacts at rest stay closed, and how: the first combination whose forces are admissible.
std::string HybridIntegrator::choose_mode(std::optional<ForbiddenTransition> forbidden) {
  const VectorXd v = velocity();
  const auto rows = mechanics_.row(now_.q);
  const double slow = 1e-9 * (1.0 + v.lpNorm<Eigen::Infinity>());
  const Mode old = now_.mode;
  Mode mode;
  std::vector<double> slips;
  Combinations touching = resting_contacts(rows, v, slow, mode, slips);
  const auto is_forbidden = [&](std::size_t contact, const Combinations::Choice& c) {
    if (static_cast<int>(contact) != forbidden->contact) return false;
    if (!forbidden->state) return c.contact_state != ContactState::open;
    return c.contact_state == *forbidden->state &&
           (c.contact_state != ContactState::slide || c.direction == forbidden->direction);
  };
  // If no other combination is admissible, the second pass allows the forbidden transition.
  for (const bool forbidding : {forbidden.has_value(), false}) {
    touching.first();
    do {
      bool allowed = true;
      for (std::size_t j = 0; j < touching.size(); ++j) {
        const auto& c = touching.chosen(j);
        mode.states[touching.contacts[j]] = c.contact_state;
        mode.slip_directions[touching.contacts[j]] = c.direction;
        allowed = allowed && !(forbidding && is_forbidden(touching.contacts[j], c));
      }
      if (!allowed) continue;
      const ActiveRows h = held(mode, now_.q);
      if (!forces_are_admissible(touching, rows, v, h, slips, slow)) continue;
      now_.mode = mode;
      if (!h.rows.empty()) {  // projects onto the hidden constraint, G M^-1 p = 0
        const Eigen::LLT<MatrixXd> mass(mechanics_.mass(now_.q));
        now_.p -= h.G.transpose() * (h.G * mass.solve(h.G.transpose())).llt().solve(h.G * v);
      }
      for (std::size_t i = 0; i < mode.states.size(); ++i)
        if (old.states[i] == ContactState::open && mode.states[i] != ContactState::open) note(Event::touch, i, 0.0);
      return "";
    } while (touching.next());
    if (!forbidding) break;
  }
  return at("no forces of contact fit this state (Painleve's paradox)");
}

// An impact: the contacts that may exchange impulses, and the required rates of their gaps.
struct HybridIntegrator::Impact {
  Combinations contacts;
  std::vector<double> wanted;   // required rates of the gaps after the impact, m/s
  int first = -1, hitting = 0;  // first contact that closes; number of contacts that close
  VectorXd p, v;                // before the impact
  Eigen::LLT<MatrixXd> mass;
  double impulse_tolerance = 0.0, speed_tolerance = 0.0;  // rounding, N s and m/s
};

HybridIntegrator::Impact HybridIntegrator::impact_now(const Rows& rows) const {
  Impact impact;
  impact.p = now_.p;
  impact.v = velocity();
  const double slow = 1e-12 * (1.0 + impact.v.lpNorm<Eigen::Infinity>());
  for (std::size_t i = 0; i < assembly_.contacts.size(); ++i) {
    const Contact& contact = assembly_.contacts[i];
    if (rows.value(contact.gap) > closed && now_.mode.states[i] == ContactState::open) continue;
    const double rate = rows.gradient.row(contact.gap).dot(impact.v);
    const bool latched = contact.latch && now_.mode.states[i] != ContactState::open, hits = rate < -slow;
    impact.wanted.push_back(hits ? -contact.restitution * rate : 0.0);
    impact.hitting += hits;
    if (hits && impact.first < 0) impact.first = i;
    std::vector<Combinations::Choice> choices = {{ContactState::slide, 0}};
    if (contact.slip >= 0 && contact.friction > 0.0)
      choices = {{ContactState::stick, 0}, {ContactState::slide, 1}, {ContactState::slide, -1}};
    if (!latched) choices.push_back({ContactState::open, 0});
    impact.contacts.add(i, std::move(choices));
  }
  impact.mass.compute(mechanics_.mass(now_.q));
  impact.impulse_tolerance = 1e-10 * (1e-6 + impact.p.lpNorm<Eigen::Infinity>());
  impact.speed_tolerance = 1e-10 * (1e-6 + impact.v.lpNorm<Eigen::Infinity>());
  return impact;
}

// Returns the momentum after the impact for the current combination. nullopt: it is not admissible. Admissible:
// impulses push, friction is within its cone or on its edge against the slip, and contacts without an impulse separate
// at least as fast as the restitution requires.
std::optional<VectorXd> HybridIntegrator::momentum_after(const Impact& impact, const Rows& rows) const {
  const Combinations& contacts = impact.contacts;
  const Eigen::Index constraints = assembly_.constraints.size();
  // held rows: bilateral constraints, then for each contact with an impulse its gap and, if sticking, its slip
  std::vector<int> held_rows(assembly_.constraints);
  std::vector<double> rates(held_rows.size(), 0.0);
  std::vector<Eigen::Index> normal(contacts.size(), -1), tangential(contacts.size(), -1);
  for (std::size_t j = 0; j < contacts.size(); ++j) {
    const Contact& contact = assembly_.contacts[contacts.contacts[j]];
    if (contacts.chosen(j).contact_state == ContactState::open) continue;
    normal[j] = held_rows.size();
    held_rows.push_back(contact.gap);
    rates.push_back(impact.wanted[j]);
    if (contacts.chosen(j).contact_state != ContactState::stick) continue;
    tangential[j] = held_rows.size();
    held_rows.push_back(contact.slip);
    rates.push_back(0.0);
  }
  const Eigen::Index m = held_rows.size();
  MatrixXd G(m, mechanics_.n());
  VectorXd miss(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    G.row(i) = rows.gradient.row(held_rows[i]);
    miss(i) = rates[i] - (i < constraints ? 0.0 : G.row(i).dot(impact.v));
  }
  MatrixXd B = G;
  for (std::size_t j = 0; j < contacts.size(); ++j)
    if (const int direction = contacts.chosen(j).direction; direction != 0) {
      const Contact& contact = assembly_.contacts[contacts.contacts[j]];
      B.row(normal[j]) -= contact.friction * direction * rows.gradient.row(contact.slip);
    }
  const MatrixXd A = G * impact.mass.solve(B.transpose());
  const VectorXd r = A.completeOrthogonalDecomposition().solve(miss);
  if (!((A * r - miss).lpNorm<Eigen::Infinity>() <= impact.speed_tolerance))
    return std::nullopt;  // dependent rows may have contradictory targets
  const VectorXd p = impact.p + B.transpose() * r, v = impact.mass.solve(p);
  for (std::size_t j = 0; j < contacts.size(); ++j) {
    const std::size_t i = contacts.contacts[j];
    const Contact& contact = assembly_.contacts[i];
    const auto& [contact_state, direction] = contacts.chosen(j);
    if (contact_state == ContactState::open) {
      if (!(rows.gradient.row(contact.gap).dot(v) >= impact.wanted[j] - impact.speed_tolerance)) return std::nullopt;
      continue;
    }
    if (contact.latch && now_.mode.states[i] != ContactState::open) continue;
    if (!(r(normal[j]) >= -impact.impulse_tolerance)) return std::nullopt;
    if (tangential[j] >= 0 &&
        !(std::abs(r(tangential[j])) <= contact.friction * r(normal[j]) + impact.impulse_tolerance))
      return std::nullopt;
    if (direction != 0 && !(direction * rows.gradient.row(contact.slip).dot(v) >= -impact.speed_tolerance))
      return std::nullopt;
  }
  return p;
}

// Removes separation speeds up to rest_speed, and the slip speeds up to rest_speed of these contacts. Changes nothing
// and returns false if all of these separation speeds are within rounding.
bool HybridIntegrator::stay_at_rest(const Impact& impact, const Rows& rows) {
  const VectorXd v = impact.mass.solve(now_.p);
  std::vector<int> resting(assembly_.constraints);
  bool rests = false;
  for (const std::size_t i : impact.contacts.contacts) {
    const Contact& contact = assembly_.contacts[i];
    const double rate = rows.gradient.row(contact.gap).dot(v);
    if (rate > options_.rest_speed) continue;
    rests = rests || rate > impact.speed_tolerance;
    resting.push_back(contact.gap);
    if (contact.slip >= 0 && contact.friction > 0.0 &&
        std::abs(rows.gradient.row(contact.slip).dot(v)) <= options_.rest_speed)
      resting.push_back(contact.slip);
  }
  if (!rests) return false;
  MatrixXd G(resting.size(), mechanics_.n());
  for (std::size_t i = 0; i < resting.size(); ++i) G.row(i) = rows.gradient.row(resting[i]);
  const MatrixXd A = G * impact.mass.solve(G.transpose());
  now_.p -= G.transpose() * A.completeOrthogonalDecomposition().solve(G * v);
  return true;
}

std::string HybridIntegrator::collide(double rest_of_step) {
  const auto rows = mechanics_.row(now_.q);
  Impact impact = impact_now(rows);
  if (impact.hitting == 0) return choose_mode();
  impact.contacts.first();
  std::optional<VectorXd> p;
  do p = momentum_after(impact, rows);
  while (!p && impact.contacts.next());
  if (!p) return at("no impulses fit this impact");
  now_.p = *p;
  const bool rests = stay_at_rest(impact, rows);
  note(Event::impact, impact.first, 0.5 * impact.p.dot(impact.v) - kinetic(now_.q, now_.p));
  if (rests) note(Event::rest, impact.first, 0.0);
  const Contact& contact = assembly_.contacts[impact.first];
  if (options_.jump == JumpLaw::discrete_energy && impact.hitting == 1 && impact.contacts.size() == 1 &&
      contact.restitution == 1.0 && contact.friction == 0.0 && rest_of_step > 1e-9 * options_.step)
    keep_energy(impact.first, rest_of_step);
  return choose_mode();
}

// Applies (3.2.4) of Pekarek 2010: the discrete energies of the intervals before and after the impact are equal,
// instead of the energies at the impact. The secant method starts at the reflected momentum, because the root without
// an impulse would let the bodies pass through each other. If it does not converge, the reflected momentum remains.
void HybridIntegrator::keep_energy(int contact, double rest_of_step) {
  const double wanted = now_.discrete_energy;
  const VectorXd reflected = now_.p, normal = mechanics_.row(now_.q).gradient.row(assembly_.contacts[contact].gap);
  HybridState to;
  to.mode = now_.mode;
  std::ranges::fill(to.mode.states, ContactState::open);
  const auto miss = [&](double impulse) {
    ActiveRows constraints = held(to.mode, now_.q);
    if (!substep(constraints, now_.q, reflected + impulse * normal, rest_of_step, to)) return std::nan("");
    return to.discrete_energy - wanted;
  };
  double a = 0.0, fa = miss(a), b = 1e-4 * reflected.norm() / std::max(normal.norm(), 1e-300), fb = miss(b);
  for (int i = 0; i < 50 && std::abs(fb) > 1e-15 * std::abs(wanted) && fb != fa; ++i) {
    const double c = b - fb * (b - a) / (fb - fa);
    a = b;
    fa = fb;
    b = c;
    fb = miss(b);
  }
  if (std::isfinite(fb) && std::abs(fb) <= 1e-10 * (1.0 + std::abs(wanted))) now_.p = reflected + b * normal;
}

std::string HybridIntegrator::apply_reset(int which) {
  const Reset& law = assembly_.resets[which];
  const VectorXd v = velocity(), watched = mechanics_.watched(now_.q, v);
  const double before = kinetic(now_.q, now_.p), height = mechanics_.state(now_.q, v).potential;
  VectorXd q = now_.q, rates = v;
  for (Eigen::Index i = 0; i < q.size(); ++i) {
    if (law.coordinates[i] >= 0) q(i) = watched(law.coordinates[i]);
    if (law.rates[i] >= 0) rates(i) = watched(law.rates[i]);
  }
  now_.q = q;
  now_.p = mechanics_.mass(q) * rates;
  for (std::size_t i = 0; i < now_.mode.states.size(); ++i)
    if (!assembly_.contacts[i].latch) now_.mode.states[i] = ContactState::open;
  reset_energy_ += mechanics_.state(q, rates).potential - height;
  note(Event::reset, which, before - kinetic(now_.q, now_.p));
  for (const Contact& contact : assembly_.contacts)
    if (mechanics_.row(q).value(contact.gap) < -1e-9)
      return at("reset " + law.name + " moves contact " + contact.name + " below the surface");
  if (!(mechanics_.watched(q, rates)(law.guard) > 0.0))
    return at("reset " + law.name + " leads to a state at which it happens again");
  return collide(0.0);
}

}  // namespace dodyn::variational
