/* Opening a plan by ballots (docs/models.md); the mechanism is in ballots.h.
 *
 * Safety: no two honest nodes decide different plans, and of what is decided two honest nodes have the
 * state. Progress: all three decide in the last ballot at the latest.
 */
byte accepting; /* all nodes have the state of plan 1, so many of them that of plan 2 */
#define ACCEPTS(me, b, v) (v == 1 || me < accepting)
#define ALL_ACCEPT(v) (v == 1)
#define BEGINS true
#define on_decision(v) assert(v == 1 || accepting >= 2)

#include "ballots.h"

proctype node(byte me) {
end:
  do
  ANY_VOTES
#ifdef PROGRESS
  LAST_BALLOT
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
#ifdef ONE_OBJECTION
  :: atomic { phase < 2 && !objected -> objected = 1; printf("node 3: objects\n") }
#endif
  :: atomic { timeout -> assert(decided[0] && decided[1] && decided[2]); break }
  od
}
#endif

init {
  atomic {
    /* For safety one and three are enough: where fewer accept plan 2, less can be done. */
#if defined(ALIKE) || defined(ONE_WORD)
    accepting = 3;
#elif defined(PROGRESS)
    if :: accepting = 0 :: accepting = 1 :: accepting = 2 :: accepting = 3 fi;
#else
    if :: accepting = 1 :: accepting = 3 fi;
#endif
    run node(0); run node(1); run node(2);
#ifdef PROGRESS
    run platform()
#endif
  }
}
