#include "nlp/symmetric_pattern.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#include <algorithm>

namespace dodyn::nlp {

using Node = SymmetricPattern::Node;
using Bundle = SymmetricPattern::Bundle;

namespace {

// Returns the elimination tree of a lower triangle in compressed columns (Liu 1990), given the rows of its transpose.
std::vector<int> elimination_tree(int n, const std::vector<std::vector<int>>& upper) {
  std::vector<int> parent(n, -1), ancestor(n, -1);
  for (int j = 0; j < n; ++j)
    for (int i : upper[j])
      for (int next; i != -1 && i < j; i = next) {
        next = ancestor[i];
        ancestor[i] = j;
        if (next == -1) parent[i] = j;
      }
  return parent;
}

// Returns a postorder: children before parents. The child with the largest `weight` is last, so that it can be merged
// with its parent.
std::vector<int> postorder(const std::vector<int>& parent, const std::vector<int>& weight) {
  const int n = parent.size();
  std::vector<std::vector<int>> children(n + 1);
  for (int j = 0; j < n; ++j) children[parent[j] == -1 ? n : parent[j]].push_back(j);
  for (auto& c : children) std::ranges::stable_sort(c, [&](int a, int b) { return weight[a] < weight[b]; });
  std::vector<int> order, stack(children[n].rbegin(), children[n].rend());
  std::vector<char> open(n, 0);
  while (!stack.empty()) {
    const int j = stack.back();
    if (open[j]) {
      order.push_back(j);
      stack.pop_back();
    } else {
      open[j] = 1;
      stack.insert(stack.end(), children[j].rbegin(), children[j].rend());
    }
  }
  return order;
}

// Columns that are eliminated together, and the rows below them. Leaves are single.
struct Group {
  std::vector<int> columns, rows;
  int parent = -1;
  bool leaf = false, merged = false;
};

// Groups neighbouring columns of equal structure. Each column of a group is the parent of the column before it.
std::vector<Group> dense_groups(const std::vector<int>& parent, const std::vector<std::vector<int>>& structure,
                                const std::vector<char>& leaf) {
  const int n = parent.size();
  std::vector<Group> groups;
  std::vector<int> group_of(n);
  for (int j = 0; j < n; ++j) {
    const bool joins =
        j > 0 && parent[j - 1] == j && !leaf[j - 1] && structure[j - 1].size() == structure[j].size() + 1;
    if (!joins) groups.push_back({{}, {}, -1, leaf[j] != 0, false});
    groups.back().columns.push_back(j);
    group_of[j] = std::ssize(groups) - 1;
  }
  for (Group& group : groups) {
    group.rows = structure[group.columns.back()];
    const int above = parent[group.columns.back()];
    group.parent = above == -1 ? -1 : group_of[above];
  }
  return groups;
}

// Estimates the instructions for a front with p variables and l rows below them.
double cost_of_front(double p, double l) {
  return 600.0 + p * (60.0 + 1.2 * l) + 0.7 * p * p * (l + 0.5 * p) + 0.2 * p * l * l + l * l;
}

// Merges a group with its parent if the additional zeros cost less than passing a block (by cost_of_front()).
void merge_groups(std::vector<Group>& groups) {
  std::vector<std::vector<int>> children(groups.size());
  for (int g = 0; g < std::ssize(groups); ++g) {
    Group& group = groups[g];
    const auto gain = [&](const Group& child) {
      const auto p = static_cast<double>(group.columns.size()), l = static_cast<double>(group.rows.size()),
                 q = static_cast<double>(child.columns.size());
      return cost_of_front(p, l) + cost_of_front(q, static_cast<double>(child.rows.size())) - cost_of_front(p + q, l);
    };
    std::vector<int>& below = children[g];
    while (!below.empty()) {
      const auto best =
          std::ranges::max_element(below, [&](int a, int b) { return gain(groups[a]) < gain(groups[b]); });
      const int child = *best;
      if (!(gain(groups[child]) > 0.0)) break;
      below.erase(best);
      below.insert(below.end(), children[child].begin(), children[child].end());
      groups[child].merged = true;
      groups[child].parent = g;
      group.columns.insert(group.columns.begin(), groups[child].columns.begin(), groups[child].columns.end());
    }
    if (group.parent != -1 && !group.leaf) children[group.parent].push_back(g);
  }
  for (int g = std::ssize(groups) - 1; g >= 0; --g)  // parents come after their children
    if (const int above = groups[g].parent; above != -1 && groups[above].merged)
      groups[g].parent = groups[above].parent;
}

// Makes nodes from the groups, with consecutive columns, children before parents.
void renumber(SymmetricPattern& s, const std::vector<Group>& groups, std::vector<int>& position) {
  const int n = s.size, count = groups.size();
  std::vector<int> kept, number(count, -1), weight(count, 0), place(n), order(n);
  for (int g = 0; g < count; ++g)
    if (!groups[g].merged) kept.push_back(g);
  for (int i = 0; i < std::ssize(kept); ++i) number[kept[i]] = i;
  std::vector<int> tree;
  for (const int g : kept) tree.push_back(groups[g].parent == -1 ? -1 : number[groups[g].parent]);
  for (const int g : kept) weight[number[g]] = groups[g].rows.size();
  const std::vector<int> post = postorder(tree, weight);
  std::vector<int> rank(kept.size());
  for (int i = 0; i < std::ssize(post); ++i) rank[post[i]] = i;
  int next = 0;
  for (const int i : post)
    for (const int j : groups[kept[i]].columns) place[j] = next++;
  for (int j = 0; j < n; ++j) order[place[j]] = s.order[j];
  s.order = std::move(order);
  for (int j = 0; j < n; ++j) position[s.order[j]] = j;
  s.nodes.clear();
  s.node_rows.clear();
  for (const int i : post) {
    const Group& group = groups[kept[i]];
    Node node{};
    node.first = place[group.columns.front()];
    node.last = node.first + std::ssize(group.columns);
    node.parent = tree[i] == -1 ? -1 : rank[tree[i]];
    node.rows_begin = s.node_rows.size();
    for (const int row : group.rows) s.node_rows.push_back(place[row]);
    node.rows_end = s.node_rows.size();
    std::sort(s.node_rows.begin() + node.rows_begin, s.node_rows.end());
    s.nodes.push_back(node);
  }
  for (const Node& node : s.nodes)
    if (node.parent != -1) ++s.nodes[node.parent].children;
}

// Appends runs of consecutive ascending positions; no run crosses `own`. Returns the index of the first.
int append_runs(std::vector<Run>& runs, const std::vector<int>& places, int own) {
  const int begin = runs.size();
  for (int i = 0; i < std::ssize(places); ++i) {
    if (i > 0 && places[i] == places[i - 1] + 1 && places[i] != own)
      ++runs.back().length;
    else
      runs.push_back({i, places[i], 1});
  }
  return begin;
}

// Removes single-column leaves from the tree. Returns the leaves' columns by remaining node.
std::vector<std::vector<int>> split_off_leaves(SymmetricPattern& s) {
  const int count = s.nodes.size();
  std::vector<int> number(count, -1);
  std::vector<Node> kept;
  std::vector<int> leaf_parent, leaf_column;
  for (int i = 0; i < count; ++i) {
    const Node& node = s.nodes[i];
    const int left = node.rows_end - node.rows_begin;
    // no fill: all entries of the column, including the diagonal, are entries of the matrix
    const int entries = s.column_start[node.first + 1] - s.column_start[node.first];
    if (node.children == 0 && node.last == node.first + 1 && node.parent != -1 && entries == left + 1) {
      leaf_parent.push_back(node.parent);
      leaf_column.push_back(node.first);
    } else {
      number[i] = kept.size();
      kept.push_back(node);
    }
  }
  std::vector<std::vector<int>> leaves(kept.size());
  for (std::size_t l = 0; l < leaf_parent.size(); ++l) {
    leaves[number[leaf_parent[l]]].push_back(leaf_column[l]);
    --kept[number[leaf_parent[l]]].children;  // leaves are no nodes of their own
  }
  for (Node& node : kept)
    if (node.parent != -1) node.parent = number[node.parent];
  s.nodes = std::move(kept);
  return leaves;
}

// Groups the leaves of a node into bundles. place: positions of the rows in its front.
void bundle_leaves(SymmetricPattern& s, Node& node, const std::vector<int>& leaves, const std::vector<int>& place) {
  struct LeafGroup {
    std::vector<int> rows, leaves;
  };
  // estimated instructions: the product, and adding the block to the front
  const auto cost = [](std::size_t rows, std::size_t count) {
    const double r = static_cast<double>(rows), padding = static_cast<double>(padded(rows));
    return (0.2 * padding * padding + 3.0 * padding) * static_cast<double>(count) + 0.3 * padding * padding +
           0.8 * r * r + 8.0 * r + 450.0;
  };
  std::vector<LeafGroup> groups;
  for (const int leaf : leaves) {
    std::vector<int> rows;
    for (int k = s.column_start[leaf] + 1; k < s.column_start[leaf + 1]; ++k) rows.push_back(place[s.row_of[k]]);
    LeafGroup* best = nullptr;
    std::vector<int> best_rows;
    double min_cost = cost(rows.size(), 1);
    for (LeafGroup& group : groups) {
      std::vector<int> both;
      std::set_union(rows.begin(), rows.end(), group.rows.begin(), group.rows.end(), std::back_inserter(both));
      const double more = cost(both.size(), group.leaves.size() + 1) - cost(group.rows.size(), group.leaves.size());
      if (more < min_cost) {
        min_cost = more;
        best = &group;
        best_rows = std::move(both);
      }
    }
    if (!best) {
      groups.push_back({rows, {leaf}});
    } else {
      best->rows = std::move(best_rows);
      best->leaves.push_back(leaf);
    }
  }
  node.bundles_begin = s.bundles.size();
  for (const LeafGroup& group : groups) {
    Bundle bundle;
    bundle.leaves_begin = s.leaves.size();
    s.leaves.insert(s.leaves.end(), group.leaves.begin(), group.leaves.end());
    bundle.leaves_end = s.leaves.size();
    bundle.rows_begin = s.bundle_rows.size();
    s.bundle_rows.insert(s.bundle_rows.end(), group.rows.begin(), group.rows.end());
    bundle.rows_end = s.bundle_rows.size();
    bundle.runs_begin = append_runs(s.runs, group.rows, node.last - node.first);
    bundle.runs_end = s.runs.size();
    for (const int leaf : group.leaves)
      for (int k = s.column_start[leaf] + 1; k < s.column_start[leaf + 1]; ++k)
        s.place[k] = std::ranges::lower_bound(group.rows, place[s.row_of[k]]) - group.rows.begin();
    const int rows = padded(bundle.rows_end - bundle.rows_begin), count = group.leaves.size();
    s.max_rest = std::max(s.max_rest, rows);
    s.max_bundle = std::max(s.max_bundle, rows * std::max(rows, count));
    s.max_scaled = std::max(s.max_scaled, rows * count);
    s.bundles.push_back(bundle);
  }
  node.bundles_end = s.bundles.size();
}

// Computes the memory of a factorisation without delayed variables. A node's block for its parent is on one of two
// stacks, by the parity of its depth. So the parent's front can be built while its children's blocks exist.
void add_up_room(SymmetricPattern& s) {
  long top[2] = {0, 0};
  std::vector<long> blocks;
  for (int i = std::ssize(s.nodes) - 1; i >= 0; --i)
    if (s.nodes[i].parent != -1) s.nodes[i].odd = !s.nodes[s.nodes[i].parent].odd;
  for (const Node& node : s.nodes) {
    const int own = node.last - node.first, left = node.rows_end - node.rows_begin, rest = padded(left);
    s.panels += static_cast<long>(own) * (padded(own) + rest);
    s.indices += own + left;
    s.diagonals += 2 * own;
    s.max_rest = std::max(s.max_rest, rest);
    s.max_scaled = std::max(s.max_scaled, rest * own);
    long& below = top[!node.odd];
    for (int c = 0; c < node.children; ++c) {
      below -= blocks.back();
      blocks.pop_back();
    }
    blocks.push_back(static_cast<long>(rest) * rest);
    top[node.odd] += blocks.back();
    s.stack[node.odd] = std::max(s.stack[node.odd], top[node.odd]);
  }
}

using Sparse = Eigen::SparseMatrix<double>;

// Returns both triangles of the pattern with its diagonal.
Sparse whole_matrix(const SymmetricPattern& s) {
  const std::size_t entries = s.rows.size();
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(2 * entries + static_cast<std::size_t>(s.size));
  for (std::size_t k = 0; k < entries; ++k) {
    triplets.emplace_back(s.rows[k], s.columns[k], 1.0);
    if (s.rows[k] != s.columns[k]) triplets.emplace_back(s.columns[k], s.rows[k], 1.0);
  }
  for (int j = 0; j < s.size; ++j) triplets.emplace_back(j, j, 1.0);
  Sparse pattern(s.size, s.size);
  pattern.setFromTriplets(triplets.begin(), triplets.end());
  return pattern;
}

// The symbolic factor in the current order: its elimination tree, and the rows of its columns below the diagonal.
struct Symbolic {
  std::vector<int> position, parent;  // position: by original index
  std::vector<std::vector<int>> structure;

  Symbolic(const Sparse& pattern, const std::vector<int>& order) : position(order.size()) {
    const int n = order.size();
    for (int j = 0; j < n; ++j) position[order[j]] = j;
    std::vector<std::vector<int>> upper(n), lower(n);
    for (int j = 0; j < n; ++j)
      for (Sparse::InnerIterator it(pattern, j); it; ++it) {
        const int a = position[it.row()], b = position[j];
        if (a < b) upper[b].push_back(a), lower[a].push_back(b);
      }
    parent = elimination_tree(n, upper);
    structure = std::move(lower);
    for (int j = 0; j < n; ++j) {
      auto& below = structure[j];
      std::ranges::sort(below);
      below.erase(std::unique(below.begin(), below.end()), below.end());
      if (parent[j] == -1) continue;
      auto& above = structure[parent[j]];
      above.insert(above.end(), below.begin() + 1, below.end());  // the first one is the parent
    }
  }
};

// Finds a fill-reducing order, then a postorder of its elimination tree. Returns the factor in that order.
Symbolic find_order(SymmetricPattern& s) {
  const Sparse pattern = whole_matrix(s);
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation;
  Eigen::AMDOrdering<int>()(pattern, permutation);
  s.order.assign(permutation.indices().data(), permutation.indices().data() + s.size);
  const Symbolic unsorted(pattern, s.order);
  std::vector<int> count, sorted;
  for (const auto& below : unsorted.structure) count.push_back(below.size());
  for (const int j : postorder(unsorted.parent, count)) sorted.push_back(s.order[j]);
  s.order = std::move(sorted);
  return {pattern, s.order};
}

// Finds the leaves of the elimination tree whose diagonal is an entry of the matrix. Their columns have no fill.
std::vector<char> find_leaves(const SymmetricPattern& s, const Symbolic& symbolic) {
  std::vector<char> alone(s.size, 0);
  for (std::size_t k = 0; k < s.rows.size(); ++k)
    if (s.rows[k] == s.columns[k]) alone[symbolic.position[s.rows[k]]] = 1;
  for (int j = 0; j < s.size; ++j)
    if (symbolic.parent[j] == -1)
      alone[j] = 0;
    else
      alone[symbolic.parent[j]] = 0;
  return alone;
}

// Builds the lower triangle in compressed columns, sorted by column, then by row, and the position of each entry of the
// pattern.
void compress(SymmetricPattern& s, const std::vector<int>& position) {
  const int n = s.size, entries = s.rows.size();
  std::vector<int> start(n + 1, 0);
  std::vector<std::pair<int, int>> entry(entries);  // (row, entry)
  const auto column_of = [&](int k) { return std::min(position[s.rows[k]], position[s.columns[k]]); };
  for (int k = 0; k < entries; ++k) ++start[column_of(k) + 1];
  for (int j = 0; j < n; ++j) start[j + 1] += start[j];
  std::vector<int> next(start.begin(), start.end() - 1);
  for (int k = 0; k < entries; ++k)
    entry[next[column_of(k)]++] = {std::max(position[s.rows[k]], position[s.columns[k]]), k};
  s.column_start.assign(n + 1, 0);
  s.row_of.clear();
  s.slot_of_entry.resize(entries);
  for (int j = 0; j < n; ++j) {
    std::sort(entry.begin() + start[j], entry.begin() + start[j + 1]);
    for (int i = start[j]; i < start[j + 1]; ++i) {
      if (i == start[j] || entry[i].first != entry[i - 1].first) {
        s.row_of.push_back(entry[i].first);
        ++s.column_start[j + 1];
      }
      s.slot_of_entry[entry[i].second] = std::ssize(s.row_of) - 1;
    }
  }
  for (int j = 0; j < n; ++j) s.column_start[j + 1] += s.column_start[j];
}

// Assigns positions in the fronts to entries of the matrix, to the children's blocks, and to bundles of leaves.
void lay_out_fronts(SymmetricPattern& s) {
  const std::vector<std::vector<int>> leaves = split_off_leaves(s);
  const int count = s.nodes.size();
  const auto is_row = [&](int j) { return s.order[j] >= s.size - s.saddle_rows; };
  std::vector<int> place(s.size, -1), eliminated(count, 0);
  s.place.assign(s.row_of.size(), 0);
  s.parent_place.resize(s.node_rows.size());
  std::vector<std::vector<int>> children(count);
  for (int i = 0; i < count; ++i)
    if (s.nodes[i].parent != -1) children[s.nodes[i].parent].push_back(i);
  for (int i = 0; i < count; ++i) {
    Node& node = s.nodes[i];
    int row = 0;
    for (int j = node.first; j < node.last; ++j) place[j] = row++;
    for (int r = node.rows_begin; r < node.rows_end; ++r) place[s.node_rows[r]] = row++;
    for (int j = node.first; j < node.last; ++j)
      for (int k = s.column_start[j]; k < s.column_start[j + 1]; ++k) s.place[k] = place[s.row_of[k]];
    for (const int c : children[i]) {
      Node& child = s.nodes[c];
      std::vector<int> places;
      for (int r = child.rows_begin; r < child.rows_end; ++r) {
        s.parent_place[r] = place[s.node_rows[r]];
        places.push_back(s.parent_place[r]);
      }
      child.runs_begin = append_runs(s.runs, places, node.last - node.first);
      child.runs_end = s.runs.size();
      eliminated[i] += eliminated[c];
    }
    bundle_leaves(s, node, leaves[i], place);
    for (int j = node.first; j < node.last; ++j) eliminated[i] += is_row(j);
    for (const int leaf : leaves[i]) eliminated[i] += is_row(leaf);
    node.touched = eliminated[i];
    for (int r = node.rows_begin; r < node.rows_end; ++r) node.touched += is_row(s.node_rows[r]);
  }
}

}  // namespace

std::shared_ptr<const SymmetricPattern> analyse_pattern(int size, const std::vector<int>& rows,
                                                        const std::vector<int>& columns, int saddle_rows) {
  auto result = std::make_shared<SymmetricPattern>();
  SymmetricPattern& s = *result;
  s.size = size;
  s.saddle_rows = saddle_rows;
  s.rows = rows;
  s.columns = columns;
  Symbolic symbolic = find_order(s);
  std::vector<Group> groups = dense_groups(symbolic.parent, symbolic.structure, find_leaves(s, symbolic));
  merge_groups(groups);
  renumber(s, groups, symbolic.position);
  compress(s, symbolic.position);
  lay_out_fronts(s);
  add_up_room(s);
  return result;
}

}  // namespace dodyn::nlp
