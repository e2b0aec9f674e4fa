// A kriging model of one quantity that adds samples incrementally and refits its hyperparameters from time to time.
//
// Costs are warped by the monotone map of maximum likelihood, from none to a logarithm above the minimum (E. Snelson,
// C. Rasmussen, Z. Ghahramani, Warped Gaussian processes, 2004). So costs over many orders of magnitude do not hide the
// minimum. A quantity with a limit is warped around the limit.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <optional>

#include "surrogate/kriging.hpp"
#include "surrogate/warp.hpp"

namespace dodyn::surrogate {

class IncrementalKriging {
 public:
  // Updates the model. Unless `restart`, `samples` must begin with the samples of the last call. `limit`: limit of the
  // quantity, equal in all calls.
  void update(const Samples& samples, const KrigingOptions& options, bool warps, bool restart,
              std::optional<double> limit = {});
  const Kriging& model() const { return *model_; }
  // Returns the model with length scales limited to `max_length`: it is less certain far from its samples.
  Kriging with_max_length(double max_length) const {
    Hyperparameters h = model_->hyperparameters();
    h.log_length = h.log_length.cwiseMin(std::log(max_length));
    return Kriging::with(warped(seen_, warp_), options_, h);
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

  std::optional<Kriging> model_;
  Samples seen_;
  KrigingOptions options_;
  Warp warp_;
  int decades_ = 0;                         // width of the warp: range of the costs / 10^(decades - 1); 0: no warp
  Eigen::Index fitted_ = 0, in_model_ = 0;  // number of samples at the last fit, and now
};

}  // namespace dodyn::surrogate
