#include "session.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char failure[2000]; // of the current case; empty: none
static bool failed;        // a case has failed

const char *given(const char *name) {
	char variable[64];
	snprintf(variable, sizeof variable, "LIMITSRV_%s", name);
	const char *value = getenv(variable);
	return value ? value : "";
}

void try_case(const char *name, void (*run)(void)) {
	failure[0] = 0;
	run();
	if (failure[0]) {
		failed = true;
		printf("FAIL %s: %s\n", name, failure);
	} else {
		printf("ok %s\n", name);
	}
	fflush(stdout);
}

void none(const char *name) { printf("none %s\n", name); }

int status(void) { return failed; }

void fail(const char *format, ...) {
	if (failure[0]) return;
	va_list args;
	va_start(args, format);
	vsnprintf(failure, sizeof failure, format, args);
	va_end(args);
}

// Formats a reply into at most size bytes.
static void show(const redisReply *reply, char *text, size_t size) {
	if (!reply) {
		snprintf(text, size, "no reply");
	} else if (reply->type == REDIS_REPLY_INTEGER) {
		snprintf(text, size, "%lld", reply->integer);
	} else if (reply->type == REDIS_REPLY_NIL) {
		snprintf(text, size, "nil");
	} else if (reply->type != REDIS_REPLY_ARRAY) {
		snprintf(text, size, "%s%s", reply->type == REDIS_REPLY_ERROR ? "-" : "", reply->str);
	} else {
		size_t used = (size_t)snprintf(text, size, "[");
		for (size_t i = 0; i < reply->elements && used + 2 < size; i++) {
			show(reply->element[i], text + used, size - used - 1);
			used += strlen(text + used);
			used += (size_t)snprintf(text + used, size - used, i + 1 < reply->elements ? "," : "]");
		}
	}
}

static bool matches(const redisReply *reply, const char **want);

static bool matches_list(const redisReply *reply, const char **want) {
	if (reply->type != REDIS_REPLY_ARRAY) return false;
	for (size_t i = 0; i < reply->elements; i++) {
		++*want; // the [ or ,
		if (!matches(reply->element[i], want) || **want != (i + 1 < reply->elements ? ',' : ']')) return false;
	}
	++*want;
	return reply->elements > 0;
}

static bool matches_integer(const redisReply *reply, const char **want) {
	bool lately = **want == '<';
	char *rest;
	long long low = strtoll(*want + lately, &rest, 10), high = low;
	if (lately) low -= 60000;
	if (strncmp(rest, "..", 2) == 0) high = strtoll(rest + 2, &rest, 10);
	*want = rest;
	return reply->type == REDIS_REPLY_INTEGER && low <= reply->integer && reply->integer <= high;
}

static bool matches_error(const redisReply *reply, const char *want) {
	if (reply->type != REDIS_REPLY_ERROR) return false;
	size_t length = strlen(want);
	if (strncmp(reply->str, want, length) != 0) return false;
	bool is_code = !strchr(want, ' ') && reply->str[length] == ' ';
	return is_code || strspn(reply->str + length, " ") == strlen(reply->str + length);
}

// Reports whether a reply matches *want, and advances *want beyond that.
static bool matches(const redisReply *reply, const char **want) {
	if (**want == '[') return matches_list(reply, want);
	if (strchr("<0123456789", **want) || (**want == '-' && strchr("0123456789", (*want)[1]))) return matches_integer(reply, want);
	size_t length = strcspn(*want, ",]");
	const char *text = *want;
	*want += length;
	if (strncmp(text, "nil", length) == 0) return reply->type == REDIS_REPLY_NIL;
	if (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS) return false;
	return strlen(reply->str) == length && strncmp(reply->str, text, length) == 0;
}

void want(redisReply *reply, const char *format, ...) {
	char wanted[400], got[1000];
	va_list args;
	va_start(args, format);
	vsnprintf(wanted, sizeof wanted, format, args);
	va_end(args);

	const char *rest = wanted;
	bool is_error = wanted[0] == '-' && strchr("0123456789", wanted[1]) == NULL;
	if (!reply || !(is_error ? matches_error(reply, wanted + 1) : matches(reply, &rest) && !*rest)) {
		show(reply, got, sizeof got);
		fail("got %s, want %s", got, wanted);
	}
	freeReplyObject(reply);
}
