// A kriging model of one quantity that adds samples incrementally and refits its hyperparameters from time to time.
//
// Costs are warped by the monotone map of maximum likelihood, from none to a logarithm above the minimum (E. Snelson,
// C. Rasmussen, Z. Ghahramani, Warped Gaussian processes, 2004). So costs over many orders of magnitude do not hide the
// minimum. A quantity with a limit is warped around the limit.
//
// A model of a cheaper approximation counts if the samples show that it helps: the sum of the log densities of
// leave-one-out predictions must be at least that of the model without it.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "surrogate/kriging.hpp"
#include "surrogate/warp.hpp"

namespace dodyn::surrogate {

// A model of a cheaper approximation of the quantity, in its own warped scale.
struct LowFidelity {
  std::shared_ptr<const Kriging> model;
  Warp warp;
};

class IncrementalKriging {
 public:
  // Sets the approximation, before the first update().
  void set_low_fidelity(LowFidelity low) { low_ = std::move(low); }
  // Returns the factor of the approximation in the present model; 0: none, or left out.
  double factor() const { return model_ ? model_->factor() : 0; }
  // Returns the number of samples of the approximation; 0: there is none.
  Eigen::Index low_fidelity_samples() const { return low_ ? low_->model->samples() : 0; }
  // Updates the model. Unless `restart`, `samples` must begin with the samples of the last call. `limit`: limit of the
  // quantity, equal in all calls.
  void update(const Samples& samples, const KrigingOptions& options, bool warps, bool restart,
              std::optional<double> limit = {});
  const Kriging& model() const { return *model_; }
  // Returns the model with length scales limited to `max_length`. This model is less certain far from its samples. If a
  // length is shortened, the process variance is the most probable one for the shorter lengths. The variance for the
  // long lengths, which is large for a nearly linear function, would leave every place undecided.
  Kriging with_max_length(double max_length) const {
    Hyperparameters h = model_->hyperparameters();
    if (h.log_length.maxCoeff() <= std::log(max_length)) return *model_;
    h.log_length = h.log_length.cwiseMin(std::log(max_length));
    return Kriging::with_lengths_of(warped(seen_, warp_), options_, h);
  }
  std::vector<Kriging::Alternative> alternatives() const {
    return Kriging::alternatives(warped(seen_, warp_), options_, model_->hyperparameters());
  }
  const Warp& warp() const { return warp_; }
  bool empty() const { return !model_; }
  void clear() { model_.reset(), fitted_ = 0; }

 private:
  Samples warped(const Samples& samples, const Warp& warp) const;
  static Samples part(const Samples& samples);
  static Eigen::Index rows(const Samples& s) {
    Eigen::Index rows = s.size();
    for (Eigen::Index i = 0; i < s.gradient.cols(); ++i) rows += s.gradient.col(i).allFinite() ? s.gradient.rows() : 0;
    return rows;
  }

  struct Fitted {
    Kriging model;
    Warp warp;
    int decades;  // width of the warp: range of the costs / 10^(decades - 1); 0: no warp
    // Returns the log density of the samples in their own unit, each predicted from the others.
    double log_density_left_out() const;
  };
  // Results of the last fit of a variant of the model, with or without the approximation.
  struct Variant {
    int decades = 0;
    std::optional<Hyperparameters> last = {};
  };
  Fitted fit(const Samples& few, const KrigingOptions& options, bool warps, std::optional<double> limit,
             const Variant& before) const;

  std::optional<Kriging> model_;
  Samples seen_;
  KrigingOptions options_;
  Warp warp_;
  std::optional<LowFidelity> low_;
  Variant plain_, with_low_;
  Eigen::Index fitted_ = 0, in_model_ = 0;  // number of samples at the last fit, and now
};

}  // namespace dodyn::surrogate
