// The jumps of motions in pieces (hybrid.hpp): impacts, exchanges, and which contacts are held after them.
#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "variational/constraint_forces.hpp"

namespace dodyn::variational {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

struct Choice {
  Hold hold;
  int way;
};
// Counts up through all combinations of choices; false behind the last one.
bool next(std::vector<std::size_t>& at, const std::vector<std::vector<Choice>>& choices) {
  for (std::size_t i = at.size(); i-- > 0;) {
    if (++at[i] < choices[i].size()) return true;
    at[i] = 0;
  }
  return false;
}

}  // namespace

// Which of the contacts that are closed and at rest against each other stay so, and how: the first combination in which
// forces push, friction stays within its cone, and what is open does not close.
std::string HybridIntegrator::settle(int contact_refused, Hold refused, int way_refused) {
  const VectorXd v = velocity();
  const auto rows = mechanics_.row(now_.q);
  const double slow = 1e-9 * (1.0 + v.lpNorm<Eigen::Infinity>());
  const std::size_t count = assembly_.contacts.size();
  const Mode old = now_.mode;
  Mode mode;
  mode.holds.assign(count, Hold::open);
  mode.ways.assign(count, 0);
  mode.anchors.assign(count, 0.0);
  std::vector<std::size_t> set;
  std::vector<std::vector<Choice>> choices;
  std::vector<double> slips(count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    const Contact& contact = assembly_.contacts[i];
    const bool latched = contact.latch && old.holds[i] != Hold::open;
    if (!latched && (rows.value(contact.gap) > closed || std::abs(rows.gradient.row(contact.gap).dot(v)) > slow))
      continue;
    set.push_back(i);
    auto& mine = choices.emplace_back();
    if (contact.slip < 0 || contact.friction == 0.0) {
      mine = {{Hold::slide, 0}};
    } else {
      slips[i] = rows.gradient.row(contact.slip).dot(v);
      mode.anchors[i] = rows.value(contact.slip);
      if (std::abs(slips[i]) > slow)
        mine = {{Hold::slide, slips[i] > 0.0 ? 1 : -1}};
      else
        mine = {{Hold::stick, 0}, {Hold::slide, 1}, {Hold::slide, -1}};
    }
    if (!contact.latch) mine.push_back({Hold::open, 0});
  }
  for (const bool refusing : {contact_refused >= 0, false}) {
    std::vector<std::size_t> at(set.size(), 0);
    do {
      bool right = true;
      for (std::size_t j = 0; j < set.size(); ++j) {
        const Choice& c = choices[j][at[j]];
        mode.holds[set[j]] = c.hold;
        mode.ways[set[j]] = c.way;
        if (!refusing || static_cast<int>(set[j]) != contact_refused) continue;
        // refused: Hold::open stands for whatever is not open
        right =
            right && (refused == Hold::open ? c.hold == Hold::open
                                            : c.hold != refused || (refused == Hold::slide && c.way != way_refused));
      }
      if (!right) continue;
      const Held h = held(mode, now_.q);
      const ConstraintForces b = balance(mechanics_, h, now_.q, v);
      const double noise = force_noise * b.scale;
      const auto lambda = [&](int row) {
        for (std::size_t k = 0; k < h.rows.size(); ++k)
          if (h.rows[k] == row) return b.lambda(static_cast<Eigen::Index>(k));
        return 0.0;
      };
      const auto rate2 = [&](int row) { return rows.gradient.row(row).dot(b.acceleration) + b.curvature(row); };
      for (std::size_t j = 0; j < set.size() && right; ++j) {
        const Contact& contact = assembly_.contacts[set[j]];
        const Choice& c = choices[j][at[j]];
        const double small = noise * (1.0 + rows.gradient.row(contact.gap).squaredNorm() /
                                                mechanics_.mass(now_.q).diagonal().minCoeff());
        if (c.hold == Hold::open) {
          right = rate2(contact.gap) >= -small;
          continue;
        }
        if (contact.latch) continue;
        const double normal = lambda(contact.gap);
        right = normal >= -noise;
        if (c.hold == Hold::stick) right = right && std::abs(lambda(contact.slip)) <= contact.friction * normal + noise;
        if (c.way != 0 && std::abs(slips[set[j]]) <= slow) right = right && c.way * rate2(contact.slip) >= -small;
      }
      if (!right) continue;
      now_.mode = mode;
      if (!h.rows.empty()) {  // on to the hidden constraint, G M^-1 p = 0
        const Eigen::LLT<MatrixXd> mass(mechanics_.mass(now_.q));
        now_.p -= h.G.transpose() * (h.G * mass.solve(h.G.transpose())).llt().solve(h.G * v);
      }
      for (std::size_t i = 0; i < count; ++i)
        if (old.holds.size() == count && old.holds[i] == Hold::open && mode.holds[i] != Hold::open)
          note(Event::touch, static_cast<int>(i), 0.0);
      return "";
    } while (next(at, choices));
    if (!refusing) break;
  }
  return at("no forces of contact fit this state (Painleve's paradox)");
}

std::string HybridIntegrator::collide(double rest_of_step) {
  const VectorXd p_before = now_.p, v = velocity();
  const auto rows = mechanics_.row(now_.q);
  const double energy_before = discrete_energy_;
  const double slow = 1e-12 * (1.0 + v.lpNorm<Eigen::Infinity>());
  std::vector<std::size_t> set;
  std::vector<std::vector<Choice>> choices;
  std::vector<double> wanted;  // rates of gaps after it
  int first = -1, hitting = 0;
  for (std::size_t i = 0; i < assembly_.contacts.size(); ++i) {
    const Contact& contact = assembly_.contacts[i];
    if (rows.value(contact.gap) > closed && now_.mode.holds[i] == Hold::open) continue;
    const double rate = rows.gradient.row(contact.gap).dot(v);
    const bool latched = contact.latch && now_.mode.holds[i] != Hold::open;
    set.push_back(i);
    const bool hits = rate < -slow;
    wanted.push_back(hits ? -contact.restitution * rate : 0.0);
    hitting += hits;
    if (hits && first < 0) first = static_cast<int>(i);
    auto& mine = choices.emplace_back();
    if (contact.slip >= 0 && contact.friction > 0.0)
      mine = {{Hold::stick, 0}, {Hold::slide, 1}, {Hold::slide, -1}};
    else
      mine = {{Hold::slide, 0}};
    if (!latched) mine.push_back({Hold::open, 0});
  }
  if (hitting == 0) return settle();
  const Eigen::LLT<MatrixXd> mass(mechanics_.mass(now_.q));
  const double scale = 1e-10 * (1e-6 + p_before.lpNorm<Eigen::Infinity>());
  const double speed = 1e-10 * (1e-6 + v.lpNorm<Eigen::Infinity>());
  std::vector<std::size_t> at(set.size(), 0);
  bool solved = false;
  const auto constraints = static_cast<Eigen::Index>(assembly_.constraints.size());
  do {
    // rows: wires, then of each contact with an impulse its gap and, sticking, its slip
    std::vector<int> held_rows(assembly_.constraints);
    std::vector<double> rates(held_rows.size(), 0.0);
    std::vector<Eigen::Index> normal(set.size(), -1), tangential(set.size(), -1);
    for (std::size_t j = 0; j < set.size(); ++j) {
      const Contact& contact = assembly_.contacts[set[j]];
      if (choices[j][at[j]].hold == Hold::open) continue;
      normal[j] = static_cast<Eigen::Index>(held_rows.size());
      held_rows.push_back(contact.gap);
      rates.push_back(wanted[j]);
      if (choices[j][at[j]].hold != Hold::stick) continue;
      tangential[j] = static_cast<Eigen::Index>(held_rows.size());
      held_rows.push_back(contact.slip);
      rates.push_back(0.0);
    }
    const auto m = static_cast<Eigen::Index>(held_rows.size());
    MatrixXd G(m, mechanics_.n());
    VectorXd miss(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      G.row(i) = rows.gradient.row(held_rows[static_cast<std::size_t>(i)]);
      miss(i) = rates[static_cast<std::size_t>(i)] - (i < constraints ? 0.0 : G.row(i).dot(v));
    }
    MatrixXd B = G;
    for (std::size_t j = 0; j < set.size(); ++j)
      if (const Choice& c = choices[j][at[j]]; c.way != 0)
        B.row(normal[j]) -=
            assembly_.contacts[set[j]].friction * c.way * rows.gradient.row(assembly_.contacts[set[j]].slip);
    const MatrixXd A = G * mass.solve(B.transpose());
    const VectorXd r = A.completeOrthogonalDecomposition().solve(miss);
    bool right = (A * r - miss).lpNorm<Eigen::Infinity>() <= speed;  // dependent rows may ask for what cannot be
    const VectorXd p = p_before + B.transpose() * r, v_after = mass.solve(p);
    for (std::size_t j = 0; j < set.size() && right; ++j) {
      const Contact& contact = assembly_.contacts[set[j]];
      const Choice& c = choices[j][at[j]];
      if (c.hold == Hold::open) {
        right = rows.gradient.row(contact.gap).dot(v_after) >= wanted[j] - speed;
        continue;
      }
      if (contact.latch && now_.mode.holds[set[j]] != Hold::open) continue;
      right = r(normal[j]) >= -scale;
      if (tangential[j] >= 0) right = right && std::abs(r(tangential[j])) <= contact.friction * r(normal[j]) + scale;
      if (c.way != 0) right = right && c.way * rows.gradient.row(contact.slip).dot(v_after) >= -speed;
    }
    if (!right) continue;
    now_.p = p;
    solved = true;
  } while (!solved && next(at, choices));
  if (!solved) return this->at("no impulses fit this impact");

  // what leaves slower than rest_speed stays, with all that carries an impulse
  VectorXd after = mass.solve(now_.p);
  std::vector<int> resting(assembly_.constraints);
  bool rests = false;
  for (std::size_t j = 0; j < set.size(); ++j) {
    const Contact& contact = assembly_.contacts[set[j]];
    const double rate = rows.gradient.row(contact.gap).dot(after);
    if (rate > options_.rest_speed) continue;
    rests = rests || rate > speed;
    resting.push_back(contact.gap);
    if (contact.slip >= 0 && contact.friction > 0.0 &&
        std::abs(rows.gradient.row(contact.slip).dot(after)) <= options_.rest_speed)
      resting.push_back(contact.slip);
  }
  const double kinetic_before = 0.5 * p_before.dot(v);
  if (rests) {
    MatrixXd G(static_cast<Eigen::Index>(resting.size()), mechanics_.n());
    for (std::size_t i = 0; i < resting.size(); ++i)
      G.row(static_cast<Eigen::Index>(i)) = rows.gradient.row(resting[i]);
    const MatrixXd A = G * mass.solve(G.transpose());
    now_.p -= G.transpose() * A.completeOrthogonalDecomposition().solve(G * after);
  }
  note(Event::impact, first, kinetic_before - kinetic(now_.q, now_.p));
  if (rests) note(Event::rest, first, 0.0);
  const Contact& contact = assembly_.contacts[static_cast<std::size_t>(first)];
  if (options_.jump == JumpLaw::discrete_energy && hitting == 1 && set.size() == 1 && contact.restitution == 1.0 &&
      contact.friction == 0.0 && rest_of_step > 1e-9 * options_.step) {
    discrete_energy_ = energy_before;
    keep_energy(first, rest_of_step);
  }
  return settle();
}

// (3.2.4) of the source: instead of the energy at the impact, the discrete energies of the intervals on either side
// agree. Of its roots, the one next to the reflection of the momentum; that without an impulse passes through.
void HybridIntegrator::keep_energy(int contact, double rest_of_step) {
  const double wanted = discrete_energy_;
  const VectorXd reflected = now_.p,
                 normal =
                     mechanics_.row(now_.q).gradient.row(assembly_.contacts[static_cast<std::size_t>(contact)].gap);
  Mode open = now_.mode;
  std::fill(open.holds.begin(), open.holds.end(), Hold::open);
  const auto miss = [&](double impulse) {
    VectorXd q1, p1;
    Held constraints = held(open, now_.q);
    if (!substep(open, constraints, now_.q, reflected + impulse * normal, rest_of_step, q1, p1)) return std::nan("");
    return discrete_energy_ - wanted;
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

std::string HybridIntegrator::exchange(int which) {
  const Reset& law = assembly_.resets[static_cast<std::size_t>(which)];
  const VectorXd v = velocity(), watched = mechanics_.watched(now_.q, v);
  const double before = kinetic(now_.q, now_.p);
  VectorXd q = now_.q, rates = v;
  for (Eigen::Index i = 0; i < q.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (law.coordinates[k] >= 0) q(i) = watched(law.coordinates[k]);
    if (law.rates[k] >= 0) rates(i) = watched(law.rates[k]);
  }
  now_.q = q;
  now_.p = mechanics_.mass(q) * rates;
  for (std::size_t i = 0; i < now_.mode.holds.size(); ++i)
    if (!assembly_.contacts[i].latch) now_.mode.holds[i] = Hold::open;
  note(Event::exchange, which, before - kinetic(now_.q, now_.p));
  for (const Contact& contact : assembly_.contacts)
    if (mechanics_.row(q).value(contact.gap) < -1e-9)
      return at("reset " + law.name + " moves contact " + contact.name + " below the surface");
  if (!(mechanics_.watched(q, rates)(law.guard) > 0.0))
    return at("reset " + law.name + " leads to where it happens again");
  return collide(0.0);
}

}  // namespace dodyn::variational
