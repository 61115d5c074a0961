// SPDX-License-Identifier: MIT
// Movement: what only rearranges, repeats or cuts. Two of a kind become one, what moves nothing
// disappears, broadcasts go outward. All of it is exact.
#pragma once

#include <sinter/rules/movement_sides.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::rules {

inline rule_table movement_rules() {
  using enum phase;
  using enum rounding;
  using namespace movement;
  return {
      {"permute-permute", normalise, exact, "(permute[?p] (permute[?q] ?x))", permute_permute},
      {"reshape-reshape", normalise, exact, "(reshape[?p] (reshape[?q] ?x))", reshape_reshape},
      {"broadcast-broadcast", normalise, exact, "(broadcast_to[?p] (broadcast_to[?q] ?x))",
       broadcast_broadcast},
      {"slice-slice", normalise, exact, "(slice[?p] (slice[?q] ?x))", slice_slice},
      {"flip-flip", normalise, exact, "(flip[?p] (flip[?q] ?x))", flip_flip},
      {"flip-permute", normalise, exact, "(flip[?p] (permute[?q] ?x))", flip_permute},
      {"pad-pad", normalise, exact, "(pad[?p] (pad[?q] ?x))", pad_pad},
      {"slice-pad", normalise, exact, "(slice[?p] (pad[?q] ?x))", slice_pad},

      {"identity-permute", normalise, exact, "(permute[?p] ?x)", "?x", is_identity_permute},
      {"identity-reshape", normalise, exact, "(reshape[?p] ?x)", "?x", keeps_shape},
      {"identity-broadcast", normalise, exact, "(broadcast_to[?p] ?x)", "?x", keeps_shape},
      {"identity-slice", normalise, exact, "(slice[?p] ?x)", "?x",
       keeps_shape},  // no room to leave an element out
      {"permute-units", normalise, exact, "(permute[?p] ?x)", permute_of_units},

      {"permute-broadcast", improve, exact, "(permute[?p] (broadcast_to[?q] ?x))",
       permute_broadcast},
      {"slice-broadcast", improve, exact, "(slice[?p] (broadcast_to[?q] ?x))", slice_broadcast},
      {"flip-broadcast", improve, exact, "(flip[?p] (broadcast_to[?q] ?x))", flip_broadcast},
      {"reshape-broadcast", improve, exact, "(reshape[?p] (broadcast_to[?q] ?x))",
       reshape_broadcast},
      {"broadcast-reshape", improve, exact, "(broadcast_to[?p] (reshape[?q] ?x))",
       broadcast_reshape},

      {"slice-concat", normalise, exact, "(slice[?p] (concat[?q] ?a ?b))", slice_concat<2>},
      {"slice-concat", normalise, exact, "(slice[?p] (concat[?q] ?a ?b ?c))", slice_concat<3>},
      {"slice-concat", normalise, exact, "(slice[?p] (concat[?q] ?a ?b ?c ?d))", slice_concat<4>},
      {"concat-slices", normalise, exact, "(concat[?p] (slice[?a] ?x) (slice[?b] ?x))",
       concat_slices<2>},
      {"concat-slices", normalise, exact,
       "(concat[?p] (slice[?a] ?x) (slice[?b] ?x) (slice[?c] ?x))", concat_slices<3>},
      {"concat-slices", normalise, exact,
       "(concat[?p] (slice[?a] ?x) (slice[?b] ?x) (slice[?c] ?x) (slice[?d] ?x))",
       concat_slices<4>},
  };
}

}  // namespace sinter::rules
