/* Ballots: four nodes decide one value, the inputs that they freeze or the plan that they open.
 *
 * Nodes 0, 1 and 2 are honest, the fourth is Byzantine, and so is whoever carries votes. A vote that
 * an honest node has signed is a value in a table that never goes away: it may be shown to anybody,
 * at any time, any number of times, or never. That is every delay, repetition, reordering and loss.
 * The fourth node's votes need no table: it signs whatever serves, also contradictions, but for
 * nobody else. So two honest votes and its own make a quorum of three.
 *
 * A crash changes nothing: a vote is on the disk before it leaves (unless NO_SYNC). A node that is
 * down, or not asked, takes no step.
 *
 * PROGRESS: after anything at all in the ballots before (phase 0), an honest platform runs the last
 * one, and the three honest nodes answer (phase 1); at last nothing else is under way any more, and
 * the fourth node is silent (phase 2). Votes are only ever added, so no run goes on for ever, and one
 * that is fair to the honest nodes and the platform ends where none of them can do anything. So it is
 * enough to look at these ends.
 *
 * Rules that can be left out:
 *   NO_STATUS         in a later ballot a node is willing to any value that it accepts
 *   NO_PROOF          a lock in a status needs no quorum of willing
 *   NO_BOUND_QUORUM   a node decides once it is bound itself
 *   LATE              a node is bound in a ballot that it has left
 *   NO_SYNC           a vote leaves before it is on the disk, and a node crashes
 *   FRESH_STATUS      a status that is asked for again has the lock of today
 *   ONE_WORD          a node is bound for good, on one peer's word
 *   ONE_OBJECTION     one node objects, unsigned, and nobody decides anything
 *   OWN_LOCK          a node refuses what statuses allow, if it is locked on another value
 *   DECIDED_IS_SILENT a node that has decided votes no more
 */
#ifndef BALLOTS
#define BALLOTS 2
#endif
#define LAST (BALLOTS - 1)
#define AT(i, b) ((i) * BALLOTS + (b))

/* What honest nodes have signed, by node and ballot. Values are 1 and 2; 0 is none. */
byte willing[3 * BALLOTS];
byte bound[3 * BALLOTS];
bit  status[3 * BALLOTS];
byte status_at[3 * BALLOTS]; /* the lock in it: 1 + its ballot, 0 for none */
byte status_on[3 * BALLOTS]; /* and its value */

/* What honest nodes keep. */
byte ballot[3];              /* the latest in which it voted */
byte lock_at[3], lock_on[3]; /* as in a status */
byte decided[3];             /* the value that it freezes or releases */

byte phase;
byte asked;                  /* in the last ballot: the value that the platform asks for */
bit  objected;
bit  crashed[3];             /* of NO_SYNC */

#ifdef PROGRESS
#define ANYTHING (LAST - 1)  /* up to this ballot anything may happen */
#else
#define ANYTHING LAST
#endif

#define SAY(vote, b, v) ((vote[AT(0,b)] == v) + (vote[AT(1,b)] == v) + (vote[AT(2,b)] == v))
#define QUORUM(vote, b, v) (SAY(vote, b, v) >= 2)
#define QUORUM_OF_ANY(vote, v) (QUORUM(vote, 0, v) || QUORUM(vote, 1, v) || QUORUM(vote, LAST, v))

/* What statuses allow. The latest lock on v before ballot b that the fourth node can show: */
#if defined(NO_PROOF)
#define SHOWN(b, v) (b)
#elif BALLOTS == 2
#define SHOWN(b, v) (b > 0 && QUORUM(willing, 0, v))
#else
#define SHOWN(b, v) (b > 1 && QUORUM(willing, 1, v) -> 2 : (b > 0 && QUORUM(willing, 0, v) -> 1 : 0))
#endif
/* Two honest statuses, with one of the fourth node. The same follows for all three honest ones: if the
 * highest lock of three is on v, so is that of some two, and if none of three has a lock, no two have. */
#define HAVE(i, j, b)   (status[AT(i,b)] && status[AT(j,b)])
#define LATER(i, j, b)  (status_at[AT(i,b)] >= status_at[AT(j,b)])
#define TOP(i, j, b)    (LATER(i, j, b) -> status_at[AT(i,b)] : status_at[AT(j,b)])
#define TOP_ON(i, j, b) (LATER(i, j, b) -> status_on[AT(i,b)] : status_on[AT(j,b)])
#define DEMAND(i, j, b, v) (HAVE(i, j, b) && (TOP_ON(i, j, b) == v || SHOWN(b, v) > TOP(i, j, b)))
#define FREE(i, j, b) (HAVE(i, j, b) && TOP(i, j, b) == 0)
#define ANY_PAIR(what, b) (what(0, 1, b) || what(0, 2, b) || what(1, 2, b))

#define EVER(v) (willing[AT(me,0)] == v || willing[AT(me,1)] == v) /* it does not look again */
#define ACCEPTS_IN(b, v) ((ACCEPTS(me, b, v) || EVER(v)) && (b == 0 || ANY_PAIR(FREE, b)))
#ifdef NO_STATUS
#define ALLOWED(b, v) ACCEPTS(me, b, v)
#else
#define ALLOWED(b, v) (ACCEPTS_IN(b, v) || \
  DEMAND(0, 1, b, v) || DEMAND(0, 2, b, v) || DEMAND(1, 2, b, v))
#endif

/* May node `me` vote so? */
#ifdef NO_SYNC
#define FIRST(b, v) (willing[AT(me,b)] == 0 || crashed[me] && willing[AT(me,b)] != v)
#else
#define FIRST(b, v) (willing[AT(me,b)] == 0)
#endif
#ifdef OWN_LOCK
#define NO_VETO(v) (lock_on[me] == 0 || lock_on[me] == v)
#else
#define NO_VETO(v) true
#endif
#ifdef LATE
#define NOT_LEFT(b) true
#else
#define NOT_LEFT(b) (ballot[me] <= b)
#endif
#ifdef DECIDED_IS_SILENT
#define VOTES (decided[me] == 0)
#else
#define VOTES true
#endif
/* ALIKE: both values are the same to all, so the first one that a node is willing to may be called 1. */
#ifdef ALIKE
#define CALLED(v) (v == 1 || SAY(willing, 0, 1) || SAY(willing, 1, 1) || SAY(willing, LAST, 1))
#else
#define CALLED(v) true
#endif
#define MAY_STATUS(b) (VOTES && ballot[me] < b)
#define MAY_WILLING(b, v) (VOTES && ballot[me] <= b && FIRST(b, v) && NO_VETO(v) && CALLED(v) && ALLOWED(b, v))
#ifdef ONE_WORD
#define MAY_BOUND(b, v) (lock_at[me] == 0 && ACCEPTS(me, b, v))
#else
#define MAY_BOUND(b, v) (VOTES && NOT_LEFT(b) && bound[AT(me,b)] == 0 && QUORUM(willing, b, v))
#endif
#ifdef NO_BOUND_QUORUM
#define MAY_DECIDE(v) (decided[me] == 0 && lock_on[me] == v)
#else
#define MAY_DECIDE(v) (decided[me] == 0 && !objected && QUORUM_OF_ANY(bound, v))
#endif

/* DECISIONS_OF_QUORUMS: no steps for decisions, which change nothing else. Instead of two different ones,
 * look for two quorums of bound, of which they would be made: a smaller space for three ballots. */
#ifdef DECISIONS_OF_QUORUMS
#define DECISIONS
#define NO_TWO_QUORUMS (!(QUORUM_OF_ANY(bound, 1) && QUORUM_OF_ANY(bound, 2)))
#else
#define DECISIONS \
  :: atomic { phase < 2 && MAY_DECIDE(1) -> decide(1) } \
  :: atomic { phase < 2 && MAY_DECIDE(2) -> decide(2) }
#define NO_TWO_QUORUMS true
#endif

inline say_status(b) {
  ballot[me] = b;
  status[AT(me,b)] = 1; status_at[AT(me,b)] = lock_at[me]; status_on[AT(me,b)] = lock_on[me];
  printf("node %d: status of ballot %d, locked on %d\n", me, b, lock_on[me])
}

inline say_willing(b, v) {
  /* Two different votes of a node in one ballot and phase are evidence that it lies. */
  assert(willing[AT(me,b)] == 0 || willing[AT(me,b)] == v);
  ballot[me] = b;
  willing[AT(me,b)] = v;
  printf("node %d: willing to %d in ballot %d\n", me, v, b)
}

inline say_bound(b, v) {
  if :: b > ballot[me] -> ballot[me] = b :: else fi;
  bound[AT(me,b)] = v;
  if :: b + 1 > lock_at[me] -> lock_at[me] = b + 1; lock_on[me] = v :: else fi;
  printf("node %d: bound to %d in ballot %d\n", me, v, b);
  assert(NO_TWO_QUORUMS)
}

inline decide(v) {
  decided[me] = v;
  printf("node %d: decides %d\n", me, v);
  assert(decided[0] == 0 || decided[0] == v);
  assert(decided[1] == 0 || decided[1] == v);
  assert(decided[2] == 0 || decided[2] == v);
  on_decision(v)
}

/* Whatever anybody asks for, showing whichever votes it likes. */
#define ANY_BALLOT(b) \
  :: atomic { phase < 2 && b <= ANYTHING && b > 0 && MAY_STATUS(b) -> say_status(b) } \
  :: atomic { phase < 2 && b <= ANYTHING && MAY_WILLING(b, 1) -> say_willing(b, 1) } \
  :: atomic { phase < 2 && b <= ANYTHING && MAY_WILLING(b, 2) -> say_willing(b, 2) } \
  :: atomic { phase < 2 && b <= ANYTHING && MAY_BOUND(b, 1) -> say_bound(b, 1) } \
  :: atomic { phase < 2 && b <= ANYTHING && MAY_BOUND(b, 2) -> say_bound(b, 2) }
#if BALLOTS == 2
#define ANY_BALLOTS ANY_BALLOT(0) ANY_BALLOT(1)
#else
#define ANY_BALLOTS ANY_BALLOT(0) ANY_BALLOT(1) ANY_BALLOT(2)
#endif

#if defined(FRESH_STATUS)
#define BROKEN :: atomic { status[AT(me, ballot[me])] && status_at[AT(me, ballot[me])] != lock_at[me] -> \
  printf("node %d: another status of ballot %d, locked on %d\n", me, ballot[me], lock_on[me]); \
  assert(status_at[AT(me, ballot[me])] == lock_at[me]) }
#elif defined(NO_SYNC)
#define BROKEN :: atomic { crashed[me] == 0 && willing[AT(me, ballot[me])] -> crashed[me] = 1; \
  printf("node %d: crashes and forgets\n", me) }
#else
#define BROKEN
#endif

#define ANY_VOTES ANY_BALLOTS BROKEN DECISIONS

/* The last ballot, of an honest platform. A quorum is there once three honest nodes have voted so; with
 * two of them only while the fourth node does its part. A node that has decided shows its quorum. */
#ifdef DECIDED_IS_SILENT
#define GIVEN(i) false
#else
#define GIVEN(i) (decided[i])
#endif
#define THREE(vote) (asked && (SAY(vote, LAST, asked) == 3 || SAY(vote, LAST, asked) == 2 && phase == 1))
#define LAST_BALLOT \
  :: atomic { phase > 0 && BEGINS && MAY_STATUS(LAST) -> say_status(LAST) } \
  :: atomic { asked && MAY_WILLING(LAST, asked) -> say_willing(LAST, asked) } \
  :: atomic { THREE(willing) && MAY_BOUND(LAST, asked) -> say_bound(LAST, asked) } \
  :: atomic { THREE(bound) && MAY_DECIDE(asked) -> decide(asked) } \
  :: atomic { phase > 0 && !decided[me] && GIVEN(0) -> decide(decided[0]) } \
  :: atomic { phase > 0 && !decided[me] && GIVEN(1) -> decide(decided[1]) } \
  :: atomic { phase > 0 && !decided[me] && GIVEN(2) -> decide(decided[2]) }

/* What the platform reads from the first three statuses: of two honest nodes and the fourth, or of all
 * three. Where none has a lock it asks for a value that, as all three have told it, they accept. */
#define HIGHEST(i, v) (status_on[AT(i,LAST)] == v && \
  status_at[AT(i,LAST)] >= TOP(0, 1, LAST) && status_at[AT(i,LAST)] >= TOP(1, 2, LAST))
#define OF_THREE(v) (HAVE(0, 1, LAST) && HAVE(1, 2, LAST) && ( \
  HIGHEST(0, v) || HIGHEST(1, v) || HIGHEST(2, v) || \
  TOP(0, 1, LAST) == 0 && TOP(1, 2, LAST) == 0 && ALL_ACCEPT(v)))
#define OF_TWO(v) (ANY_PAIR(FREE, LAST) && ALL_ACCEPT(v) || \
  DEMAND(0, 1, LAST, v) || DEMAND(0, 2, LAST, v) || DEMAND(1, 2, LAST, v))
#define CHOICE(v) (asked == 0 && (OF_THREE(v) || phase == 1 && OF_TWO(v)))
