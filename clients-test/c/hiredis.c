// The session of hiredis, which supports RESP2 only, and no clusters.
#include "session.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static redisContext *redis; // to the server without password

// Connects to the server with the address in an environment variable.
static redisContext *dial(const char *server) {
	char host[64];
	int port = 0;
	if (sscanf(given(server), "%63[^:]:%d", host, &port) != 2) fail("got no %s", server);
	redisContext *context = redisConnect(host, port);
	if (!context || context->err) fail("got %s, want a connection", context ? context->errstr : "no memory");
	return context;
}

static void connected(void) { want(redisCommand(redis, "PING"), "PONG"); }

static void token(void) {
	want(redisCommand(redis, "RL.TOKEN token 10 10/h"), FRESH);
	want(redisCommand(redis, "RL.TOKEN token 10 10/h %d", 9), "[1,10,0,0,<3600000]");
	want(redisCommand(redis, "RL.TOKEN token 10 10/h"), "[0,10,0,<360000,<3600000]");
	want(redisCommand(redis, "RL.TOKEN token 10 10/h %d", 11), "[0,10,0,-1,<3600000]");
}

static void leaky(void) {
	want(redisCommand(redis, "RL.LEAKY leaky 2 2/h"), "[1,2,1,0,1800000]");
	want(redisCommand(redis, "RL.LEAKY leaky 2 2/h"), "[1,2,0,<1800000,<3600000]");
	want(redisCommand(redis, "RL.LEAKY leaky 2 2/h"), "[0,2,0,<1800000,<3600000]");
}

// Returns the last integer of a decision.
static long long reset(const redisReply *reply) {
	bool is_decision = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 5;
	return is_decision ? reply->element[4]->integer : 0;
}

static void fixed(void) {
	redisReply *first = redisCommand(redis, "RL.FIXED fixed 2 year");
	long long left = reset(first);
	want(first, "[1,2,1,0,1..31622400000]");
	redisReply *second = redisCommand(redis, "RL.FIXED fixed 2 year 2");
	long long same = reset(second);
	if (same < left - 60000 || same > left) fail("got %lld, want %lld or up to a minute less", same, left);
	want(second, "[0,2,1,%lld,%lld]", same, same);
}

static void slide(void) {
	redisReply *first = redisCommand(redis, "RL.SLIDE slide 2 365d");
	long long left = reset(first);
	want(first, "[1,2,1,0,1..63072000000]");
	want(redisCommand(redis, "RL.SLIDE slide 2 365d 2"), "[0,2,1,1..%lld,<%lld]", left, left);
}

static void log_(void) {
	want(redisCommand(redis, "RL.LOG log 2 1h"), "[1,2,1,0,3600000]");
	want(redisCommand(redis, "RL.LOG log 2 1h 2"), "[0,2,1,<3600000,<3600000]");
	want(redisCommand(redis, "RL.LOG log 2 1h 2 PARTIAL"), "[1,2,0,0,<3600000]");
	want(redisCommand(redis, "RL.LOG log 2 1h 1 SHADOW"), "[1,2,0,<3600000,<3600000]");
}

static void acquire(void) {
	want(redisCommand(redis, "RL.ACQUIRE places 1 1h a"), "[1,1,0,0,3600000]");
	want(redisCommand(redis, "RL.ACQUIRE places 1 1h b"), "[0,1,0,<3600000,<3600000]");
	want(redisCommand(redis, "RL.RELEASE places a"), "1");
	want(redisCommand(redis, "RL.RELEASE places a"), "0");
	want(redisCommand(redis, "RL.ACQUIRE places 1 1h b"), "[1,1,0,0,3600000]");
}

static void all(void) {
	const char *both = "RL.ALL TOKEN all:user 10 10/h 1 LOG all:ip 1 1h 1";
	want(redisCommand(redis, both), "[1,1," FRESH ",[1,1,0,0,3600000]]");
	want(redisCommand(redis, both), "[0,1,[1,10,9,0,<360000],[0,1,0,<3600000,<3600000]]");
}

static void peek(void) {
	want(redisCommand(redis, "RL.PEEK peek"), "nil");
	want(redisCommand(redis, "RL.REFUND peek 1"), "nil");
	want(redisCommand(redis, "RL.CHARGE peek 1"), "nil");
	want(redisCommand(redis, "RL.TOKEN peek 10 10/h 4"), "[1,10,6,0,1440000]");
	want(redisCommand(redis, "RL.PEEK peek"), "[TOKEN,10,6,0,<1440000]");
	want(redisCommand(redis, "RL.REFUND peek 2"), "[1,10,8,0,<720000]");
	want(redisCommand(redis, "RL.CHARGE peek 10"), "[1,10,0,<720000,<4320000]");
	want(redisCommand(redis, "RL.RESET peek"), "1");
}

static void errors(void) {
	want(redisCommand(redis, "RL.NOSUCH k"), "-ERR unknown command 'RL.NOSUCH', with args beginning with: 'k'");
	want(redisCommand(redis, "RL.TOKEN k"), ARGUMENTS);
	want(redisCommand(redis, "RL.TOKEN k -1 1"), "-ERR capacity must be a whole number from 0 to 1000000000000, got '-1'");
	want(redisCommand(redis, "PING"), "PONG");
}

static void wrong_type(void) {
	want(redisCommand(redis, "RL.TOKEN type 10 10/h"), FRESH);
	want(redisCommand(redis, "RL.FIXED type 10 60"), "-WRONGTYPE");
}

// Returns the next reply of a pipeline, or NULL if the connection failed.
static redisReply *next(void) {
	void *reply = NULL;
	return redisGetReply(redis, &reply) == REDIS_OK ? reply : NULL;
}

static void pipeline(void) {
	for (int i = 0; i < 100; i++) redisAppendCommand(redis, "RL.TOKEN pipeline 50 50/h");
	for (int i = 0; i < 50; i++) want(next(), "[1,50,%d,0,0..3600000]", 49 - i);
	for (int i = 50; i < 100; i++) want(next(), "[0,50,0,<72000,0..3600000]");
}

static void transaction(void) {
	want(redisCommand(redis, "MULTI"), "OK");
	want(redisCommand(redis, "RL.TOKEN transaction:token 10 10/h 4"), "QUEUED");
	want(redisCommand(redis, "RL.LOG transaction:log 2 1h"), "QUEUED");
	want(redisCommand(redis, "EXEC"), "[[1,10,6,0,1440000],[1,2,1,0,3600000]]");

	want(redisCommand(redis, "MULTI"), "OK");
	want(redisCommand(redis, "RL.TOKEN transaction:token"), ARGUMENTS);
	want(redisCommand(redis, "EXEC"), "-EXECABORT");
}

// Reports whether SCAN returns a key.
static bool scanned(const char *key, size_t length) {
	char cursor[32] = "0";
	bool found = false;
	do {
		redisReply *page = redisCommand(redis, "SCAN %s", cursor);
		if (!page || page->type != REDIS_REPLY_ARRAY || page->elements != 2) {
			want(page, "[cursor,keys]");
			return false;
		}
		const redisReply *keys = page->element[1];
		for (size_t i = 0; i < keys->elements; i++) {
			const redisReply *name = keys->element[i];
			found |= name->len == length && memcmp(name->str, key, length) == 0;
		}
		snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
		freeReplyObject(page);
	} while (strcmp(cursor, "0") != 0);
	return found;
}

static void binary_keys(void) {
	char every_byte[256];
	for (int i = 0; i < 256; i++) every_byte[i] = (char)i;
	const struct { const char *name; size_t length; } keys[] = {{every_byte, 256}, {"a\r\nb", 4}, {"\0", 1}};
	for (int i = 0; i < 3; i++) {
		want(redisCommand(redis, "RL.TOKEN %b 10 10/h", keys[i].name, keys[i].length), FRESH);
		want(redisCommand(redis, "RL.PEEK %b", keys[i].name, keys[i].length), PEEKED);
		if (!scanned(keys[i].name, keys[i].length)) fail("SCAN does not find key %d", i);
	}
}

static void resp2(void) {
	redisReply *hello = redisCommand(redis, "HELLO");
	bool is_proto_2 = hello && hello->type == REDIS_REPLY_ARRAY && hello->elements > 5 &&
		strcmp(hello->element[4]->str, "proto") == 0 && hello->element[5]->integer == 2;
	if (!is_proto_2) want(hello, "[proto,2]");
	else freeReplyObject(hello);
	want(redisCommand(redis, "RL.TOKEN resp2 10 10/h"), FRESH);
	want(redisCommand(redis, "RL.PEEK none"), "nil");
}

static void reconnect(void) {
	const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
	redisContext *context = dial("RESTART_ADDR");
	want(redisCommand(context, "RL.TOKEN reconnect 10 10/h 4"), "[1,10,6,0,1440000]");
	if (system(given("RESTART")) != 0) fail("the restart failed");
	redisReply *reply = NULL;
	for (time_t end = time(NULL) + 10; !(reply = redisCommand(context, "RL.TOKEN reconnect 10 10/h 4")) && time(NULL) < end;) {
		nanosleep(&pause, NULL);
		redisReconnect(context);
	}
	want(reply, "[1,10,6,0,1440000]");
	redisFree(context);
}

static void wrong_password(void) {
	redisContext *context = dial("PASSWORD_ADDR");
	want(redisCommand(context, "AUTH %s", "wrong"), "-WRONGPASS");
	want(redisCommand(context, "RL.TOKEN password 10 10/h"), "-NOAUTH");
	redisFree(context);
}

static void password(void) {
	redisContext *context = dial("PASSWORD_ADDR");
	want(redisCommand(context, "AUTH %s", given("PASSWORD")), "OK");
	want(redisCommand(context, "RL.TOKEN password 10 10/h"), FRESH);
	redisFree(context);
}

int main(void) {
	redis = dial("ADDR");
	try_case("connect", connected);
	try_case("decide-token", token);
	try_case("decide-leaky", leaky);
	try_case("decide-fixed", fixed);
	try_case("decide-slide", slide);
	try_case("decide-log", log_);
	try_case("acquire-release", acquire);
	try_case("all", all);
	try_case("peek-refund-charge", peek);
	try_case("errors", errors);
	try_case("wrongtype", wrong_type);
	try_case("pipeline", pipeline);
	try_case("transaction", transaction);
	try_case("binary-keys", binary_keys);
	try_case("resp2", resp2);
	none("resp3");
	try_case("reconnect", reconnect);
	try_case("wrong-password", wrong_password);
	try_case("password", password);
	if (given("CLUSTER_ADDR")[0]) none("cluster");
	redisFree(redis);
	return status();
}
