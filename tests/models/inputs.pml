/* Freezing inputs and drawing the seed (docs/models.md); the ballots are in ballots.h.
 *
 * In a comparison each node tells the others its signed commitment to what it adds to the seed. Those of
 * the honest nodes never change, so a value is what the fourth node is committed to: 1 or 2. It may tell
 * each node another one, and another in the next comparison. Then all tell all what they have heard, as
 * it was signed: the echo. A node accepts a value if all have heard the same.
 *
 * Safety: nothing is frozen or drawn differently, and once an honest node's contribution is seen, nothing
 * else can be frozen: whoever sees it has nothing left to choose. Here a node accepts anything at any
 * time, which is more than any number of comparisons allow.
 * Progress: an honest platform compares once more and runs the last ballot. Then all freeze the same, or
 * the fourth node is named by two signatures of one comparison, or it took no part in that; and where one
 * had frozen before, all do.
 *
 * Rules that can be left out, besides those in ballots.h:
 *   ONE_ROUND   a node freezes what it was told, without echo and votes
 *   OPEN_EARLY  a contribution is opened when its node is willing
 *   NOT_FITTING a contribution is drawn that does not fit what was frozen
 *   NO_ECHO     a node accepts what it was told itself
 */
byte heard[3];    /* of the fourth node, in the last comparison */
bit  complete[3]; /* whether the echoes of all have reached a node */
bit  named;       /* the fourth node */
byte seen;        /* the value under which the first honest contribution was seen */
byte drawn[3];

#ifdef PROGRESS
#define ACCEPTS(me, b, v) (b < LAST || complete[me] && heard[me] == v)
#else
#define ACCEPTS(me, b, v) true
#endif
#define ALL_ACCEPT(v) (heard[0] == v && heard[1] == v && heard[2] == v)
#define BEGINS (complete[0] && complete[1] && complete[2])
#define on_decision(v) assert(seen == 0 || seen == v)

#include "ballots.h"

#ifdef OPEN_EARLY
#define OPENED willing[AT(me, ballot[me])]
#else
#define OPENED decided[me]
#endif
#ifdef NOT_FITTING
#define FITS(v) true
#else
#define FITS(v) (v == decided[me])
#endif

inline draw(v) {
  phase = 3; /* all have frozen the same, and no vote matters any more */
  drawn[me] = v;
  printf("node %d: draws with %d\n", me, v);
  assert(drawn[0] == 0 || drawn[0] == v);
  assert(drawn[1] == 0 || drawn[1] == v);
  assert(drawn[2] == 0 || drawn[2] == v)
}

#define FROZEN (decided[0] && decided[1] && decided[2])
#define ALL_HEARD (heard[0] && heard[1] && heard[2])
#define SAME (heard[0] == heard[1] && heard[1] == heard[2])

proctype node(byte me) {
end:
  do
  ANY_VOTES
#ifdef PROGRESS
  :: atomic { phase == 1 && !heard[me] -> heard[me] = 1; printf("node 3: tells node %d 1\n", me) }
  :: atomic { phase == 1 && !heard[me] -> heard[me] = 2; printf("node 3: tells node %d 2\n", me) }
#ifdef NO_ECHO
  :: atomic { heard[me] && !complete[me] -> complete[me] = 1 }
#else
  :: atomic { ALL_HEARD && SAME && !complete[me] -> complete[me] = 1 }
  :: atomic { ALL_HEARD && !SAME && !named -> named = 1 }
#endif
  LAST_BALLOT
#else
#ifdef ONE_ROUND
  :: atomic { !decided[me] -> decide(1) }
  :: atomic { !decided[me] -> decide(2) }
#endif
  :: atomic { !seen && OPENED -> seen = OPENED; printf("node %d: opens its contribution\n", me) }
  /* The fourth node tells its contribution to one of commitment 1 or 2; the three others tell theirs. */
  :: atomic { FROZEN && !drawn[me] && FITS(1) -> draw(1) }
  :: atomic { FROZEN && !drawn[me] && FITS(2) -> draw(2) }
#endif
  od
}

#ifdef PROGRESS
proctype platform() {
end:
  do
  :: atomic { phase < 2 -> phase++; printf("platform: phase %d\n", phase) }
  :: atomic { CHOICE(1) -> asked = 1; printf("platform: asks for 1\n") }
  :: atomic { CHOICE(2) -> asked = 2; printf("platform: asks for 2\n") }
  :: atomic { timeout ->
       assert(FROZEN || (named || !ALL_HEARD) && !decided[0] && !decided[1] && !decided[2]); break }
  od
}
#endif

init {
  atomic {
    run node(0); run node(1); run node(2);
#ifdef PROGRESS
    run platform()
#endif
  }
}
