// What a client of C needs: the servers that it is given, the lines that it
// prints, and what is wanted of a reply.
#ifndef SESSION_H
#define SESSION_H

#include <hiredis/hiredis.h>

// The first answer for RL.TOKEN with 10 10/h, and what RL.PEEK tells of that.
#define FRESH "[1,10,9,0,360000]"
#define PEEKED "[TOKEN,10,9,0,<360000]"

// The error for an RL.TOKEN that is too short.
#define ARGUMENTS "-ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW]"

// A variable of the environment, by its name without LIMITSRV_; see ../README.md.
const char *given(const char *name);

// Tries a case and prints how it went.
void try_case(const char *name, void (*run)(void));

// Says that the client has no such thing.
void none(const char *name);

// The exit status: 1 if a case failed.
int status(void);

// Fails the case, which goes on, but only the first failure is told.
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Fails the case unless a reply is what is wanted, and frees it. Wanted is, after
// what printf makes of it:
//
//   12       this integer
//   <12000   one of up to a minute of milliseconds less
//   1..12    one of this range
//   nil      nil
//   [1,[2]]  an array
//   -ERR ab  an error of this text, but for blanks at its end, or if it is one word
//            of this code; to the end
//   other    a string or status of these letters
void want(redisReply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
