#include "elastic/mesh.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

namespace dodyn::elastic {
namespace {

template <int n>
using Face = std::array<int, n>;

// Returns the face opposite a corner, as ascending indices of nodes.
template <int n>
Face<n> face(const std::array<int, n + 1>& cell, int opposite) {
  Face<n> f;
  for (int i = 0, k = 0; i <= n; ++i)
    if (i != opposite) f[k++] = cell[i];
  std::ranges::sort(f);
  return f;
}

}  // namespace

template <int n>
Matrix<n> Mesh<n>::edges(const std::array<int, n + 1>& cell) const {
  Matrix<n> D;
  for (int i = 0; i < n; ++i) D.col(i) = nodes[cell[i + 1]] - nodes[cell[0]];
  return D;
}

template <int n>
void Mesh<n>::check(const std::string& name) const {
  const auto refuse = [&](const std::string& what) { throw std::invalid_argument("mesh of '" + name + "' " + what); };
  if (cells.empty()) refuse("has no cells");
  std::vector<char> used(nodes.size(), 0);
  std::vector<int> parent(cells.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int i) {
    while (parent[i] != i) i = parent[i];
    return i;
  };
  std::map<Face<n>, int> owner;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    for (const int i : cells[c]) {
      if (i < 0 || i >= std::ssize(nodes)) refuse("names a node that does not exist");
      used[i] = 1;
    }
    const Matrix<n> D = edges(cells[c]);
    if (!(D.determinant() > 1e-9 * std::pow(D.norm(), n))) refuse("has a cell without volume");
    for (int i = 0; i <= n; ++i) {
      const auto [at, is_new] = owner.emplace(face<n>(cells[c], i), static_cast<int>(c));
      if (!is_new) parent[root(c)] = root(at->second);
    }
  }
  if (!std::ranges::all_of(used, [](char u) { return u; })) refuse("has a node that belongs to no cell");
  for (std::size_t c = 0; c < cells.size(); ++c)
    if (root(c) != root(0)) refuse("has parts that are not connected");
}

template <int n>
Mesh<n> block(const Vector<n>& size, const std::array<int, n>& cells,
              const std::function<bool(const Vector<n>&)>& inside) {
  Mesh<n> mesh;
  for (int a = 0; a < n; ++a)
    if (!(size[a] > 0.0) || cells[a] < 1)
      throw std::invalid_argument("a block needs sizes and numbers of cells above zero");
  std::map<std::array<int, n>, int> number;
  const auto node = [&](const std::array<int, n>& at) {
    const auto [known, is_new] = number.emplace(at, static_cast<int>(mesh.nodes.size()));
    if (is_new) {
      Vector<n> x;
      for (int a = 0; a < n; ++a) x[a] = size[a] * (static_cast<double>(at[a]) / cells[a] - 0.5);
      mesh.nodes.push_back(x);
    }
    return known->second;
  };
  std::array<int, n> box{};
  int count = 1;
  for (const int c : cells) count *= c;
  for (int k = 0; k < count; ++k) {
    Vector<n> centre;
    for (int a = 0, rest = k; a < n; ++a) {
      box[a] = rest % cells[a];
      rest /= cells[a];
      centre[a] = size[a] * ((box[a] + 0.5) / cells[a] - 0.5);
    }
    if (inside && !inside(centre)) continue;
    // one simplex for each order of the axes: the path from a corner (common to all boxes around a node) to the
    // opposite one
    std::array<int, n> order;
    std::iota(order.begin(), order.end(), 0);
    do {
      std::array<int, n> at = box;
      for (int a = 0; a < n; ++a) at[a] += box[a] % 2;
      std::array<int, n + 1> cell;
      cell[0] = node(at);
      for (int a = 0; a < n; ++a) {
        const std::size_t axis = order[a];
        at[axis] += box[axis] % 2 ? -1 : 1;
        cell[a + 1] = node(at);
      }
      if (mesh.edges(cell).determinant() < 0.0) std::swap(cell[0], cell[1]);
      mesh.cells.push_back(cell);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return mesh;
}

template <int n>
std::vector<std::array<int, n>> boundary_faces(const Mesh<n>& mesh) {
  std::map<Face<n>, int> cells_of;
  for (const auto& cell : mesh.cells)
    for (int i = 0; i <= n; ++i) ++cells_of[face<n>(cell, i)];
  std::vector<Face<n>> all;
  for (const auto& [nodes, count] : cells_of)
    if (count == 1) all.push_back(nodes);
  return all;
}

template <int n>
std::vector<int> boundary_cells(const Mesh<n>& mesh) {
  const auto outside = boundary_faces(mesh);
  std::vector<int> all;
  for (std::size_t c = 0; c < mesh.cells.size(); ++c)
    for (int i = 0; i <= n; ++i)
      if (std::ranges::binary_search(outside, face<n>(mesh.cells[c], i))) {
        all.push_back(c);
        break;
      }
  return all;
}

template struct Mesh<2>;
template struct Mesh<3>;
template Mesh<2> block<2>(const Vector<2>&, const std::array<int, 2>&, const std::function<bool(const Vector<2>&)>&);
template Mesh<3> block<3>(const Vector<3>&, const std::array<int, 3>&, const std::function<bool(const Vector<3>&)>&);
template std::vector<std::array<int, 2>> boundary_faces<2>(const Mesh<2>&);
template std::vector<std::array<int, 3>> boundary_faces<3>(const Mesh<3>&);
template std::vector<int> boundary_cells(const Mesh<2>&);
template std::vector<int> boundary_cells(const Mesh<3>&);

}  // namespace dodyn::elastic
