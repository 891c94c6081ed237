/* Who is named (docs/models.md). Nodes 0, 1 and 2 are honest, node 3 lies as it likes.
 *
 * Letters: in each round of a signed attempt two or three senders, who know the same pieces, send them to
 * another node; each signs a hash of its own pieces and of every other sender's. A node that finds two
 * different hashes of the same pieces stops and shows them; otherwise it uses what it got, and later
 * sends letters that follow from it. A hash is right (0) or wrong (1).
 * Manifests: all nodes say which of a participant's manifests they have, and show its signature: an earlier
 * one, 0, which an honest node may have, or one of the latest version, 1 or 2.
 *
 * Safety: of any nodes of whom one is said to lie, node 3 is one; so it is in all sets together, and nobody
 * else is ever named. Nor is an honest participant. Progress: node 3 is named once it has lied about
 * letters with two others, or about letters of three senders.
 *
 * Rules that can be left out:
 *   UNCHECKED     a node uses what it could not compare, as three nodes do, and signs afterwards
 *   REPEATED      a place is used again in another attempt, with other masks
 *   NO_SIGNATURE  nobody needs to show a participant's signature
 *   REPLAYED      an earlier version of a manifest counts
 *   BY_WORD       a mismatch names whom the receiver says, without signatures
 */
#define LIAR 8 /* node 3, as a bit */
#define BIT(i) (1 << (i))
#define ROUNDS 2
#define ATTEMPTS 3

byte suspects = 15;     /* the nodes that are in all sets shown so far */
byte lied_with;         /* the honest nodes, as bits, with whom node 3 sent letters that did not fit */
bit wrong[4];           /* what a node knows in this attempt is not what the others know */
byte round, attempt;
byte made[3 * ROUNDS]; /* 1 + the hash that an honest node has signed, by place: node and round */
bit blamed;             /* the participant */

/* Of this round: */
byte to, other;         /* the receiver, and who sends nothing; 4 if all others send */
bit hash[16];           /* what a sender says of another sender's pieces */
#define SENDS(i) (i != to && i != other)
#define SAYS(by, x) hash[4 * (by) + (x)]

inline say(me) {
  if
  :: SENDS(me) && me < 3 ->
     /* A new attempt has new masks: other pieces, so another hash of a place that was used before. */
     assert(made[me * ROUNDS + round] == 0 || made[me * ROUNDS + round] == 1 + wrong[me] + 2 * attempt);
     made[me * ROUNDS + round] = 1 + wrong[me] + 2 * attempt;
     SAYS(me, 0) = wrong[me]; SAYS(me, 1) = wrong[me]; SAYS(me, 2) = wrong[me]; SAYS(me, 3) = wrong[me]
  :: SENDS(me) && me == 3 ->
     if :: SAYS(3, 0) = 0 :: SAYS(3, 0) = 1 fi;
     if :: SAYS(3, 1) = 0 :: SAYS(3, 1) = 1 fi;
     if :: SAYS(3, 2) = 0 :: SAYS(3, 2) = 1 fi;
     if :: SAYS(3, 3) = 0 :: SAYS(3, 3) = 1 fi
  :: else
  fi
}

/* Senders a and b say different things of what a third one sends. */
#define DIFFER(a, b, x) (SENDS(a) && SENDS(b) && SENDS(x) && SAYS(a, x) != SAYS(b, x))
#define DIFFERS(x) (DIFFER(0, 1, x) || DIFFER(0, 2, x) || DIFFER(0, 3, x) || \
  DIFFER(1, 2, x) || DIFFER(1, 3, x) || DIFFER(2, 3, x))
/* Of three senders, the one who contradicts both others; else all. */
#define AGAINST(a, b, c, x) (DIFFER(a, b, x) && DIFFER(a, c, x))
#define ALONE(a, x) (AGAINST(a, (a + 1) % 4, (a + 2) % 4, x) || AGAINST(a, (a + 1) % 4, (a + 3) % 4, x) || \
  AGAINST(a, (a + 2) % 4, (a + 3) % 4, x))
#define SENDERS (15 - BIT(to) - (other < 4 -> BIT(other) : 0))

inline accuse(nodes) {
  suspects = suspects & nodes;
  printf("attempt %d: one of nodes (bits) %d lies, so one of %d\n", attempt, nodes, suspects);
  assert(nodes & LIAR);
  fits = 0
}

inline compare(x) {
  if
  :: DIFFERS(x) && other == 4 && ALONE(0, x) -> accuse(1)
  :: DIFFERS(x) && other == 4 && ALONE(1, x) -> accuse(2)
  :: DIFFERS(x) && other == 4 && ALONE(2, x) -> accuse(4)
  :: DIFFERS(x) && other == 4 && ALONE(3, x) -> accuse(8); lied_with = 7
  :: DIFFERS(x) && other < 4 -> pair = SENDERS; accuse(pair); lied_with = lied_with | (pair & 7); pair = 0
  :: else
  fi
}

#define WRONG(x) (SENDS(x) && SAYS(x, x))

proctype letters() {
  byte i, pair; bit fits;
end:
  do
  :: atomic { attempt < ATTEMPTS ->
       if :: to = 0 :: to = 1 :: to = 2 :: to = 3 fi;
       if :: other = 0 :: other = 1 :: other = 2 :: other = 3 :: other = 4 fi;
       if
       :: other != to ->
          printf("attempt %d, round %d: node %d receives, node %d has no part\n", attempt, round, to, other);
          say(0); say(1); say(2); say(3);
          fits = 1;
#ifdef UNCHECKED
          if
          :: attempt > 0 -> compare(0); compare(1); compare(2); compare(3)
          :: else
          fi;
#else
          compare(0); compare(1); compare(2); compare(3);
#endif
          if
          :: fits && to < 3 -> wrong[to] = wrong[to] || WRONG(0) || WRONG(1) || WRONG(2) || WRONG(3)
          :: else
          fi;
          round++;
          if
          :: fits && round < ROUNDS
          :: else -> /* another attempt, from what was known before, under other keys */
             round = 0; attempt++;
#ifndef REPEATED
             for (i : 0 .. 3 * ROUNDS - 1) { made[i] = 0 };
#endif
#ifndef UNCHECKED
             wrong[0] = 0; wrong[1] = 0; wrong[2] = 0
#endif
          fi;
          i = 0; fits = 0;
          for (i : 0 .. 15) { hash[i] = 0 };
          i = 0
       :: else
       fi;
       to = 0; other = 0;
#ifdef BY_WORD
       if :: suspects = suspects & BIT(1) :: true fi;
#endif
       /* Two pairs with one node in common, or one against two: only node 3 is left. */
       assert(suspects & LIAR);
       assert(suspects == LIAR || (lied_with & (lied_with - 1)) == 0 || lied_with == 0)
     }
  od
}

/* Each that differs must be shown with the participant's signature: whoever cannot is named. 0 is an earlier
 * version, which the participant's signature under a later one voids. It alone signs two of one version. */
proctype manifests() {
  bit honest; byte version[4]; byte i; bit shown; bit one; bit two;
  atomic {
    if :: honest = 1 :: honest = 0 fi;
    for (i : 0 .. 2) {
      version[i] = 1;
      if :: version[i] = 0 :: !honest -> version[i] = 2 :: true fi
    };
    if :: version[3] = 0 :: version[3] = 1 :: version[3] = 2 fi;
    if :: version[3] < 2 || !honest -> shown = 1 :: else -> shown = 0 fi;
#ifdef NO_SIGNATURE
    shown = 1;
#endif
    for (i : 0 .. 3) {
#ifdef REPLAYED
      one = one || version[i] != version[0];
      two = one
#else
      one = one || version[i] == 1;
      two = two || version[i] == 2
#endif
    };
    if
    :: !shown -> suspects = suspects & LIAR
    :: shown && one && two -> blamed = 1; assert(!honest)
    :: else /* the latest counts */
    fi
  }
}

init { atomic { run letters(); run manifests() } }
