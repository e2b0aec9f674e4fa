// Siconos runs the scenes of bench/impacts.cpp.
#include <SiconosKernel.hpp>
#include <cmath>
#include <ctime>

struct Result {
  double position, seconds;
};
Result siconos(bool bar, double h, double end);

namespace {

class TipRelation : public LagrangianScleronomousR {  // y - L/2 cos(theta)
 public:
  TipRelation() { _jachq = std::make_shared<SimpleMatrix>(1, 2); }
  void computeh(const BlockVector& q, BlockVector&, SiconosVector& y) override {
    y.setValue(0, q.getValue(0) - 0.5 * std::cos(q.getValue(1)));
  }
  void computeJachq(const BlockVector& q, BlockVector&) override {
    _jachq->setValue(0, 0, 1.0);
    _jachq->setValue(0, 1, 0.5 * std::sin(q.getValue(1)));
  }
};

}  // namespace

Result siconos(bool bar, double h, double end) {
  const unsigned n = bar ? 2 : 1;
  auto q = std::make_shared<SiconosVector>(n), v = std::make_shared<SiconosVector>(n),
       weight = std::make_shared<SiconosVector>(n);
  auto mass = std::make_shared<SimpleMatrix>(n, n);
  (*mass)(0, 0) = 1.0;
  if (bar) {
    (*mass)(1, 1) = 1.0 / 12;
    (*q)(0) = 0.8 + 0.5 * std::cos(0.6);
    (*q)(1) = 0.6;
    (*v)(0) = -0.5 * std::sin(0.6) * 1.3;
    (*v)(1) = 1.3;
    (*weight)(0) = -9.8;
  } else {
    (*q)(0) = 1.25;
    (*weight)(0) = -10.0;
  }
  auto body = std::make_shared<LagrangianLinearTIDS>(q, v, mass);
  body->setFExtPtr(weight);
  SP::Relation relation;
  if (bar) {
    relation = std::make_shared<TipRelation>();
  } else {
    auto H = std::make_shared<SimpleMatrix>(1, 1);
    (*H)(0, 0) = 1.0;
    relation = std::make_shared<LagrangianLinearTIR>(H);
  }
  auto contact = std::make_shared<Interaction>(std::make_shared<NewtonImpactNSL>(bar ? 1.0 : 0.8), relation);
  auto system = std::make_shared<NonSmoothDynamicalSystem>(0.0, end);
  system->insertDynamicalSystem(body);
  system->link(contact, body);
  auto simulation = std::make_shared<TimeStepping>(system, std::make_shared<TimeDiscretisation>(0.0, h),
                                                   std::make_shared<MoreauJeanOSI>(0.5), std::make_shared<LCP>());
  const std::clock_t before = std::clock();
  const long steps = std::lround(end / h);
  for (long k = 0; k < steps && simulation->hasNextEvent(); ++k) {
    simulation->computeOneStep();
    simulation->nextStep();
  }
  return {(*body->q())(0), static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC};
}
