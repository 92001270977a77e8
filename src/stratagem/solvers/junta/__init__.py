"""The junta solver: mixtures of patterns on few attributes, for domains too large to enumerate (theory.md, section 6).

L/n = v_0 + sum_c costs_c/m_c over classes c of characters, m the mean energies of the mixture: nothing of the size of
the domain is formed. In order of the computation,

1. `signature`: the classes of characters that queries need, with their costs;
2. `signature_choice`: on which attributes patterns lie, the maximal sets that queries touch and larger ones;
3. `junta_pattern`: first patterns, also those of published mechanisms of this form, and ascents to patterns worth more
   than the mixture; `signature`: their energies and moves, many at once by fast transforms;
4. `pattern_weights` (beside this folder): the best weights, a convex problem;
5. `junta`: rounds of 3 and 4 until they gain nothing, and the strategy;
6. `equalisation`: variants of the patterns whose mean energy is the same at all characters of a class, which 1 to 5
   assume: exact, by nonnegative least squares, where tables are small, else `complementary` patterns, each of which
   corrects the spectrum of those before it.
"""
