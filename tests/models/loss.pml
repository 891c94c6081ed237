/* Epochs, loss and return with `on_loss: three` (docs/models.md).
 *
 * Nodes 0, 1 and 2 are honest, node 3 is Byzantine, and so is the platform: it may ask any node to begin
 * any epoch, with all nodes or without one. Whoever floods a node keeps it from answering FLOOD questions
 * in a row, at any time. One honest node may also be away for longer, and come back: node 2.
 *
 * Safety: an honest node is removed only after it was away, whichever set of nodes says so; two different
 * sets of three never compute; who computes in an epoch agrees on its members; and after a return nobody
 * is removed.
 * PROGRESS: node 2 or node 3 is silent for good, and no node went on without another one before. Then an
 * honest platform opens an epoch of the three that are left.
 *
 * Rules that can be left out:
 *   ONE_SECOND   one unanswered question is enough (a second of silence)
 *   NO_LOOK      a node takes the platform's word that another is gone
 *   AGAIN        a node goes on without another more than once
 *   SAME_NUMBER  a node forgets in a crash which epoch it had begun
 *   NO_MEMBERS   keys are agreed on without naming the members
 */
#ifndef EPOCHS
#define EPOCHS 3
#endif
#define ALL 4 /* an epoch without nobody */
#define FLOOD 1
#ifdef ONE_SECOND
#define QUESTIONS 1
#else
#define QUESTIONS 2
#endif
#define AT(i, n) ((i) * EPOCHS + (n))

byte away;           /* node 2. 1: is away; 2: has been for the whole grace */
bit  was_away;

/* What each honest node keeps. */
byte next[3];            /* numbers below are used up */
byte lost[3];            /* whom it goes, or went, on without */
bit  back[3];
byte begun[3 * EPOCHS];  /* 1 + whom that epoch is without; 0: not begun here */
bit  opened[3 * EPOCHS]; /* keys are agreed on, and who takes part is written down */

byte dead = ALL;         /* of the progress */
byte three = ALL;        /* whom three computed without, */
byte three_in, all_in;   /* 1 + the epoch, and that of the return */
bit  forgot[3];          /* of SAME_NUMBER */

#define ALIVE (me != 2 || away == 0)
#ifdef AGAIN
#define MAY_LOSE(w) (w != me)
#else
#define MAY_LOSE(w) (w != me && !back[me] && (lost[me] == ALL || lost[me] == w))
#endif
/* Node 3 answers whom it likes, as long as it likes. */
#ifdef NO_LOOK
#define IS_GONE(w) true
#else
#define IS_GONE(w) (w == 3 || FLOOD >= QUESTIONS || w == 2 && away == 2)
#endif
#define MAY_BEGIN(n, w) (ALIVE && n >= next[me] && (w == ALL || MAY_LOSE(w) && IS_GONE(w)))

#ifdef NO_MEMBERS
#define BEGAN(j, n, w) (j == w || begun[AT(j, n)] != 0)
#else
#define BEGAN(j, n, w) (j == w || begun[AT(j, n)] == w + 1)
#endif
/* Every honest member has begun the same epoch; node 3 does whatever serves, unless it is dead. */
#define MAY_OPEN(n, w) (ALIVE && next[me] == n + 1 && begun[AT(me, n)] == w + 1 && !opened[AT(me, n)] && \
  BEGAN(0, n, w) && BEGAN(1, n, w) && BEGAN(2, n, w) && (w == 3 || dead != 3))

/* Whether all honest members have opened epoch n without w, so that they can compute. */
#define OPEN(j, n, w) (j == w || opened[AT(j, n)] && begun[AT(j, n)] == w + 1)
#define COMPUTES(n, w) (OPEN(0, n, w) && OPEN(1, n, w) && OPEN(2, n, w))
#define AGREES(j, n, w) (!opened[AT(j, n)] || begun[AT(j, n)] == w + 1)

inline begin(n, w) {
  begun[AT(me, n)] = w + 1;
  next[me] = n + 1;
  printf("node %d: begins epoch %d without node %d\n", me, n, w)
}

inline open(n, w) {
  printf("node %d: opens epoch %d without node %d\n", me, n, w);
  opened[AT(me, n)] = 1;
  if
  :: w != ALL && lost[me] == ALL -> lost[me] = w
  :: w == ALL && lost[me] != ALL && !back[me] -> back[me] = 1
  :: else
  fi;
  assert(w >= 3 || w == 2 && was_away);
  assert(AGREES(0, n, w) && AGREES(1, n, w) && AGREES(2, n, w));
  if
  :: COMPUTES(n, w) && w != ALL ->
     assert(three == ALL || three == w);
     assert(all_in == 0 || n + 1 < all_in);
     three = w; three_in = n + 1
  :: COMPUTES(n, w) && w == ALL && three != ALL && n + 1 > three_in -> all_in = n + 1
  :: else
  fi
}

#define EPOCH(n, w) \
  :: atomic { dead == ALL && MAY_BEGIN(n, w) -> begin(n, w) } \
  :: atomic { MAY_OPEN(n, w) -> open(n, w) }
#define ANY_EPOCH(n) EPOCH(n, 0) EPOCH(n, 1) EPOCH(n, 2) EPOCH(n, 3) EPOCH(n, ALL)

proctype node(byte me) {
end:
  do
  ANY_EPOCH(0)
#if EPOCHS > 1
  ANY_EPOCH(1)
#endif
#ifdef PROGRESS
  /* The last epoch is the honest platform's, without the node that is silent. */
  :: atomic { dead != ALL && MAY_BEGIN(2, dead) -> begin(2, dead) }
  :: atomic { dead != ALL && MAY_OPEN(2, dead) -> open(2, dead) }
#elif EPOCHS > 2
  ANY_EPOCH(2)
#endif
#ifdef SAME_NUMBER
  :: atomic { !forgot[me] && next[me] > 0 && !opened[AT(me, next[me] - 1)] -> forgot[me] = 1; next[me]--; printf("node %d: crashes and forgets\n", me) }
#endif
  od
}

proctype node_2_is_away() {
end:
  do
  :: atomic { away == 0 && dead == ALL -> away = 1; printf("node 2: goes away\n") }
  :: atomic { away == 1 -> away = 2; was_away = 1; printf("node 2: is away for the whole grace\n") }
  :: atomic { away && dead == ALL -> away = 0; printf("node 2: is back\n") }
  od
}

#ifdef PROGRESS
#define NO_OTHER_LOST(i) (i == dead || lost[i] == ALL || lost[i] == dead && !back[i])
proctype platform() {
end:
  do
  :: atomic { dead == ALL -> if :: away -> dead = 2 :: away == 0 -> dead = 3 fi }
  :: atomic { timeout ->
       assert(COMPUTES(2, dead) || !(NO_OTHER_LOST(0) && NO_OTHER_LOST(1) && NO_OTHER_LOST(2)));
       break }
  od
}
#endif

init {
  atomic {
    lost[0] = ALL; lost[1] = ALL; lost[2] = ALL;
    run node(0); run node(1); run node(2); run node_2_is_away();
#ifdef PROGRESS
    run platform()
#endif
  }
}
