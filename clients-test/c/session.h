// The parts of a session in C: the addresses of the servers, the lines of output, and
// the checks of replies.
#ifndef SESSION_H
#define SESSION_H

#include <hiredis/hiredis.h>

// The first reply to RL.TOKEN with 10 10/h, and the reply of RL.PEEK after it.
#define FRESH "[1,10,9,0,360000]"
#define PEEKED "[TOKEN,10,9,0,<360000]"

// The error of an RL.TOKEN with too few arguments.
#define ARGUMENTS "-ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]"

// An environment variable by its name without LIMITSRV_; see ../README.md.
const char *given(const char *name);

// Runs a case and prints its line.
void try_case(const char *name, void (*run)(void));

// Reports that the client has no support for the case.
void none(const char *name);

// Returns the exit status: 1 if a case failed.
int status(void);

// Marks the case as failed. It continues, but only the first failure is printed.
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Fails the case unless a reply matches format, and frees the reply. After printf
// formatting, it is one of:
//
//   12       this integer
//   <12000   an integer up to a minute, in milliseconds, less
//   1..12    an integer in this range
//   nil      nil
//   [1,[2]]  an array
//   -ERR ab  an error with this text, except trailing blanks, or, for a single word,
//            with this code; extends to the end of format
//   other    this string or status
void want(redisReply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
