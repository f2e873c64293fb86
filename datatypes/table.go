package datatypes

// table lists the commands. Its index is the number of a command, which stands in logs:
// append only. To add a command, add a function and a line.
var table = [...]Command{
	{Name: "GET", Args: "key", Arity: 2, Summary: "Returns the string value of a key.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupString, Flags: ReadOnly | Fast, Keys: oneKey, do: get},
	{Name: "SET", Args: "key value [NX|XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]", Arity: -3,
		Summary:    "Sets the string value of a key, ignoring its type. The key is created if it doesn't exist.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupString, Flags: Write | DenyOOM, Keys: oneKey, do: set},
	{Name: "SETEX", Args: "key seconds value", Arity: 4, Summary: "Sets the string value and expiration time of a key. Creates the key if it doesn't exist.",
		Complexity: "O(1)", Since: "2.0.0", Group: groupString, Flags: Write | DenyOOM, Keys: oneKey, do: setEx},
	{Name: "PSETEX", Args: "key milliseconds value", Arity: 4, Summary: "Sets both string value and expiration time in milliseconds of a key. The key is created if it doesn't exist.",
		Complexity: "O(1)", Since: "2.6.0", Group: groupString, Flags: Write | DenyOOM, Keys: oneKey, do: pSetEx},
	{Name: "SETNX", Args: "key value", Arity: 3, Summary: "Set the string value of a key only when the key doesn't exist.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupString, Flags: Write | DenyOOM | Fast, Keys: oneKey, do: setNX},
	{Name: "GETSET", Args: "key value", Arity: 3, Summary: "Returns the previous string value of a key after setting it to a new value.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupString, Flags: Write | DenyOOM | Fast, Keys: oneKey, do: getSet},
	{Name: "GETDEL", Args: "key", Arity: 2, Summary: "Returns the string value of a key after deleting the key.",
		Complexity: "O(1)", Since: "6.2.0", Group: groupString, Flags: Write | Fast, Keys: oneKey, do: getDel},
	{Name: "GETEX", Args: "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]", Arity: -2,
		Summary:    "Returns the string value of a key after setting its expiration time.",
		Complexity: "O(1)", Since: "6.2.0", Group: groupString, Flags: Write | Fast, Keys: oneKey, do: getEx},
	{Name: "MGET", Args: "key [key ...]", Arity: -2, Summary: "Atomically returns the string values of one or more keys.",
		Complexity: "O(N)", Since: "1.0.0", Group: groupString, Flags: ReadOnly | Fast, Keys: allKeys, do: mGet},
	{Name: "MSET", Args: "key value [key value ...]", Arity: -3, Summary: "Atomically creates or modifies the string values of one or more keys.",
		Complexity: "O(N)", Since: "1.0.1", Group: groupString, Flags: Write | DenyOOM, Keys: keyPairs, do: mSet},
	{Name: "MSETNX", Args: "key value [key value ...]", Arity: -3, Summary: "Atomically modifies the string values of one or more keys only when all keys don't exist.",
		Complexity: "O(N)", Since: "1.0.1", Group: groupString, Flags: Write | DenyOOM, Keys: keyPairs, do: mSetNX},
	{Name: "INCR", Args: "key", Arity: 2, Summary: "Increments the integer value of a key by one. Uses 0 as initial value if the key doesn't exist.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupString, Flags: Write | DenyOOM | Fast, Keys: oneKey, do: incr},
	{Name: "DECR", Args: "key", Arity: 2, Summary: "Decrements the integer value of a key by one. Uses 0 as initial value if the key doesn't exist.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupString, Flags: Write | DenyOOM | Fast, Keys: oneKey, do: decr},
	{Name: "INCRBY", Args: "key increment", Arity: 3, Summary: "Increments the integer value of a key by a number. Uses 0 as initial value if the key doesn't exist.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupString, Flags: Write | DenyOOM | Fast, Keys: oneKey, do: incrBy},
	{Name: "DECRBY", Args: "key decrement", Arity: 3, Summary: "Decrements a number from the integer value of a key. Uses 0 as initial value if the key doesn't exist.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupString, Flags: Write | DenyOOM | Fast, Keys: oneKey, do: decrBy},
	{Name: "INCRBYFLOAT", Args: "key increment", Arity: 3, Summary: "Increments the floating point value of a key by a number. Uses 0 as initial value if the key doesn't exist.",
		Complexity: "O(1)", Since: "2.6.0", Group: groupString, Flags: Write | DenyOOM | Fast, Keys: oneKey, do: incrByFloat},
	{Name: "APPEND", Args: "key value", Arity: 3, Summary: "Appends a string to the value of a key. Creates the key if it doesn't exist.",
		Complexity: "O(1)", Since: "2.0.0", Group: groupString, Flags: Write | DenyOOM | Fast, Keys: oneKey, do: appendTo},
	{Name: "STRLEN", Args: "key", Arity: 2, Summary: "Returns the length of a string value.",
		Complexity: "O(1)", Since: "2.2.0", Group: groupString, Flags: ReadOnly | Fast, Keys: oneKey, do: strLen},
	{Name: "SETRANGE", Args: "key offset value", Arity: 4, Summary: "Overwrites a part of a string value with another by an offset. Creates the key if it doesn't exist.",
		Complexity: "O(1)", Since: "2.2.0", Group: groupString, Flags: Write | DenyOOM, Keys: oneKey, do: setRange},
	{Name: "GETRANGE", Args: "key start end", Arity: 4, Summary: "Returns a substring of the string stored at a key.",
		Complexity: "O(N)", Since: "2.4.0", Group: groupString, Flags: ReadOnly, Keys: oneKey, do: getRange},
	{Name: "SUBSTR", Args: "key start end", Arity: 4, Summary: "Returns a substring from a string value.",
		Complexity: "O(N)", Since: "1.0.0", Group: groupString, Flags: ReadOnly, Keys: oneKey, do: getRange},
	{Name: "EXISTS", Args: "key [key ...]", Arity: -2, Summary: "Determines whether one or more keys exist.",
		Complexity: "O(N)", Since: "1.0.0", Group: groupGeneric, Flags: ReadOnly | Fast, Keys: allKeys, do: exists},
	{Name: "DEL", Args: "key [key ...]", Arity: -2, Summary: "Deletes one or more keys.",
		Complexity: "O(N)", Since: "1.0.0", Group: groupGeneric, Flags: Write, Keys: allKeys, do: del},
	{Name: "UNLINK", Args: "key [key ...]", Arity: -2, Summary: "Deletes one or more keys, as DEL does.",
		Complexity: "O(N)", Since: "4.0.0", Group: groupGeneric, Flags: Write | Fast, Keys: allKeys, do: del},
	{Name: "TOUCH", Args: "key [key ...]", Arity: -2, Summary: "Returns the number of existing keys out of those specified. Changes nothing.",
		Complexity: "O(N)", Since: "3.2.1", Group: groupGeneric, Flags: ReadOnly | Fast, Keys: allKeys, do: exists},
	{Name: "TYPE", Args: "key", Arity: 2, Summary: "Determines the type of value stored at a key.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupGeneric, Flags: ReadOnly | Fast, Keys: oneKey, do: typeOf},
	{Name: "RENAME", Args: "key newkey", Arity: 3, Summary: "Renames a key and overwrites the destination.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupGeneric, Flags: Write, Keys: twoKeys, do: rename},
	{Name: "RENAMENX", Args: "key newkey", Arity: 3, Summary: "Renames a key only when the target key name doesn't exist.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupGeneric, Flags: Write | Fast, Keys: twoKeys, do: renameNX},
	{Name: "EXPIRE", Args: "key seconds [NX|XX|GT|LT]", Arity: -3, Summary: "Sets the expiration time of a key in seconds.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupGeneric, Flags: Write | Fast, Keys: oneKey, do: expire},
	{Name: "PEXPIRE", Args: "key milliseconds [NX|XX|GT|LT]", Arity: -3, Summary: "Sets the expiration time of a key in milliseconds.",
		Complexity: "O(1)", Since: "2.6.0", Group: groupGeneric, Flags: Write | Fast, Keys: oneKey, do: pExpire},
	{Name: "EXPIREAT", Args: "key unix-time-seconds [NX|XX|GT|LT]", Arity: -3, Summary: "Sets the expiration time of a key to a Unix timestamp.",
		Complexity: "O(1)", Since: "1.2.0", Group: groupGeneric, Flags: Write | Fast, Keys: oneKey, do: expireAt},
	{Name: "PEXPIREAT", Args: "key unix-time-milliseconds [NX|XX|GT|LT]", Arity: -3, Summary: "Sets the expiration time of a key to a Unix milliseconds timestamp.",
		Complexity: "O(1)", Since: "2.6.0", Group: groupGeneric, Flags: Write | Fast, Keys: oneKey, do: pExpireAt},
	{Name: "TTL", Args: "key", Arity: 2, Summary: "Returns the expiration time in seconds of a key.",
		Complexity: "O(1)", Since: "1.0.0", Group: groupGeneric, Flags: ReadOnly | Fast, Keys: oneKey, do: ttl},
	{Name: "PTTL", Args: "key", Arity: 2, Summary: "Returns the expiration time in milliseconds of a key.",
		Complexity: "O(1)", Since: "2.6.0", Group: groupGeneric, Flags: ReadOnly | Fast, Keys: oneKey, do: pTTL},
	{Name: "EXPIRETIME", Args: "key", Arity: 2, Summary: "Returns the expiration time of a key as a Unix timestamp.",
		Complexity: "O(1)", Since: "7.0.0", Group: groupGeneric, Flags: ReadOnly | Fast, Keys: oneKey, do: expireTime},
	{Name: "PEXPIRETIME", Args: "key", Arity: 2, Summary: "Returns the expiration time of a key as a Unix milliseconds timestamp.",
		Complexity: "O(1)", Since: "7.0.0", Group: groupGeneric, Flags: ReadOnly | Fast, Keys: oneKey, do: pExpireTime},
	{Name: "PERSIST", Args: "key", Arity: 2, Summary: "Removes the expiration time of a key.",
		Complexity: "O(1)", Since: "2.2.0", Group: groupGeneric, Flags: Write | Fast, Keys: oneKey, do: persist},
	{Name: "INCREX", Args: "key [NX|XX] [BYFLOAT increment | BYINT increment] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]", Arity: -2,
		Summary:    "Increments the numeric value of a key within bounds, and sets its expiration time. Uses 0 as initial value if the key doesn't exist.",
		Complexity: "O(1)", Since: "8.8.0", Group: groupString, Flags: Write | DenyOOM | Fast, Keys: oneKey, do: increx},
}

// The groups of COMMAND DOCS.
const (
	groupString  = "string"
	groupGeneric = "generic"
)

var (
	oneKey   = Keys{First: 1, Last: 1, Step: 1}
	twoKeys  = Keys{First: 1, Last: 2, Step: 1}
	allKeys  = Keys{First: 1, Last: -1, Step: 1}
	keyPairs = Keys{First: 1, Last: -1, Step: 2}
)
