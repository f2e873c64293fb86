package scripts

// A lawCase is a body of which the work is measured. Before it may be a text that prepares it. Both
// see n, the length of the arguments, m, that of texts to compile, and big, a text of n bytes.
type lawCase struct{ before, body string }

// lawCases are the cases of each function, for its good exit and each way to fail.
var lawCases = map[string][]lawCase{
	"assert":         {{"", "assert(big)"}, {"", "pcall(assert, false, big)"}, {"", "pcall(assert)"}},
	"collectgarbage": {{"", "collectgarbage('count')"}, {"", "pcall(collectgarbage, big)"}},
	"error":          {{"", "pcall(error, big)"}, {"", "pcall(error, big, 0)"}, {"", "pcall(error, big, big)"}, {"", "pcall(error)"}},
	"gcinfo":         {{"", "gcinfo()"}},
	"getmetatable":   {{"", "getmetatable(big)"}, {"local t = setmetatable({}, {__metatable = 1})", "getmetatable(t)"}, {"", "pcall(getmetatable)"}},
	"ipairs": {
		{"local t = {}", "ipairs(t)"}, {"local t = {} for i = 1, n / 64 do t[i] = i end", "for _ in ipairs(t) do end"}, {"local f, t = ipairs({1})", "f(t, 0)"},
		{"local f = ipairs({})", "pcall(f, {}, big)"}, {"", "pcall(ipairs, big)"},
	},
	"load": {
		{"", "local given load(function() if given then return nil end given = true return '--' .. big:sub(1, m) end)"}, {"local s = '--' .. big:sub(1, m)", "load(function() return nil end, big)"},
		{"", "pcall(load, big)"}, {"", "load(function() return {} end)"}, {"", "local given load(function() if given then return nil end given = true return '=' .. big:sub(1, m) end)"},
	},
	"loadstring": {
		{"local s = '--' .. big:sub(1, m)", "loadstring(s)"}, {"local s = ('a=b '):rep(m / 4)", "loadstring(s)"}, {"local s = ('f(g(h())) '):rep(m / 10)", "loadstring(s)"},
		{"local s = 'x={' .. ('{},'):rep(m / 3) .. '}'", "loadstring(s)"}, {"local s = ('local function f(a) return a.b end '):rep(math.min(190, m / 35))", "loadstring(s)"},
		{"", "loadstring('', big)"}, {"local s = '@' .. big", "loadstring('', s)"}, {"local s = '=' .. big", "loadstring('(', s)"},
		{"local s = '=' .. big:sub(1, m)", "loadstring(s)"}, {"local s = '[[' .. big:sub(1, m)", "loadstring(s)"}, {"local s = ('('):rep(m)", "loadstring(s)"}, {"", "pcall(loadstring)"},
		{"local t = {} for i = 1, 100 do t[i] = 'local ' .. ('a,'):rep(99) .. 'b local function f()' end local s = table.concat(t) .. ('x() '):rep(m / 4) .. ('end '):rep(100)", "loadstring(s)"},
	},
	"next": {
		{"local t = {} for i = 1, n / 64 do t[i] = i end", "next(t)"}, {"local t = {} for i = 1, n / 64 do t[i] = i end for i = 1, n / 64 do t[i] = nil end", "next(t)"},
		{"local t = {[big] = 1}", "next(t, big:sub(1, -1))"}, {"", "pcall(next, {}, big)"}, {"local t, s = {x = 1}, big .. 'y'", "pcall(next, t, s:sub(2))"}, {"", "pcall(next, big)"},
	},
	"pairs": {{"local t = {} for i = 1, n / 64 do t['k' .. i] = i end", "for _ in pairs(t) do end"}, {"", "pairs({})"}, {"", "pcall(pairs, big)"}},
	"pcall": {
		{"local function f() end", "pcall(f, big)"}, {"", "pcall(error)"}, {"", "pcall()"}, {"", "pcall(big)"}, {"local e = {err = big}", "pcall(error, e)"},
		{"local t = {} for i = 1, math.min(n, 7000) do t[i] = i end local function f(...) return ... end", "pcall(f, unpack(t))"},
	},
	"rawequal": {{"local s = big:sub(1, -1)", "rawequal(s, big)"}, {"", "pcall(rawequal)"}},
	"rawget":   {{"local t = {[big] = 1}", "rawget(t, big:sub(1, -1))"}, {"", "pcall(rawget, big)"}},
	"rawset": {
		{"local t = {}", "rawset(t, big:sub(1, -1), 1)"}, {"", "pcall(rawset, {}, nil, 1)"}, {"", "pcall(rawset, _G, big, 1)"}, {"", "pcall(rawset, big)"},
		// A table whose place for new keys is always taken: each key makes it count its places.
		{"local t = {} for i = 1, n / 64 do t[i] = i end t.a = 1 t.b = 2", "for j = 1, 20 do local k = i * 32 + j rawset(t, k + 0.5, 1) rawset(t, k + 0.5, nil) end"},
	},
	"select": {
		{"local t = {} for i = 1, math.min(n, 7000) do t[i] = i end", "select('#', unpack(t))"}, {"", "select('#', big)"}, {"", "select(1, big)"}, {"", "pcall(select, big)"},
		{"", "pcall(select, 0)"},
	},
	"setmetatable": {{"local m = {}", "setmetatable({}, m)"}, {"", "pcall(setmetatable, {}, big)"}, {"local t = setmetatable({}, {__metatable = big})", "pcall(setmetatable, t, {})"}, {"", "pcall(setmetatable, big)"}},
	"tonumber": {
		{"local s = ('1'):rep(n)", "tonumber(s)"}, {"local s = '0.' .. ('123456789'):rep(n / 9) .. 'e-3'", "tonumber(s)"}, {"local s = '0x' .. ('f'):rep(n)", "tonumber(s)"}, {"", "tonumber(big)"},
		{"local s = ('z'):rep(n)", "tonumber(s, 36)"}, {"local s = (' '):rep(n)", "tonumber(s)"}, {"", "tonumber(big, 10)"}, {"", "tonumber(big, 16)"}, {"", "pcall(tonumber, big, 99)"},
		{"", "pcall(tonumber)"}, {"local s = 'nan(' .. big .. ')'", "tonumber(s)"},
	},
	"tostring": {{"", "tostring(big)"}, {"", "tostring(0.1)"}, {"", "tostring({})"}, {"", "tostring(nil)"}, {"local t = setmetatable({}, {__tostring = function() return big end})", "tostring(t)"}, {"", "pcall(tostring)"}},
	"type":     {{"", "type(big)"}, {"", "pcall(type)"}},
	"unpack": {
		{"local t = {} for i = 1, math.min(n, 7000) do t[i] = i end", "unpack(t)"}, {"local t = {} for i = math.min(n, 7000), 1, -1 do t[i] = i end", "unpack(t, 1, math.min(n, 7000))"},
		{"", "unpack({}, 1, math.min(n, 7000))"}, {"", "pcall(unpack, {}, 1, 8000000)"}, {"", "pcall(unpack, {}, big)"}, {"", "pcall(unpack, big)"},
	},
	"xpcall": {{"local function f() end", "xpcall(f, f)"}, {"local function f() error(big, 0) end", "xpcall(f, function(e) return e end)"}, {"", "xpcall(error, error)"}, {"", "pcall(xpcall)"}},

	"bit.arshift": shiftCases("arshift"), "bit.lshift": shiftCases("lshift"), "bit.rol": shiftCases("rol"), "bit.ror": shiftCases("ror"), "bit.rshift": shiftCases("rshift"),
	"bit.band": foldCases("bit.band"), "bit.bor": foldCases("bit.bor"), "bit.bxor": foldCases("bit.bxor"),
	"bit.bnot": numberCases("bit.bnot"), "bit.bswap": numberCases("bit.bswap"), "bit.tobit": numberCases("bit.tobit"), "bit.tohex": numberCases("bit.tohex"),

	"cjson.decode": {
		{"local s = '\"' .. big .. '\"'", "cjson.decode(s)"}, {"local s = '\"' .. ('\\\\n'):rep(n / 2) .. '\"'", "cjson.decode(s)"}, {"local s = '\"' .. ('\\\\u00e9'):rep(n / 6) .. '\"'", "cjson.decode(s)"},
		{"local s = '[' .. ('1,'):rep(n / 2) .. '1]'", "cjson.decode(s)"}, {"local s = '[' .. ('{},'):rep(n / 3) .. '1]'", "cjson.decode(s)"}, {"local s = '{\"' .. big .. '\":1}'", "cjson.decode(s)"},
		{"local s = ('1'):rep(n)", "cjson.decode(s)"}, {"local s = (' '):rep(n) .. '1'", "cjson.decode(s)"}, {"local s = '[' .. ('true,null,'):rep(n / 10) .. '1]'", "cjson.decode(s)"},
		{"", "pcall(cjson.decode, big)"}, {"local s = '\"' .. big", "pcall(cjson.decode, s)"}, {"local s = '\"\\\\' .. big", "pcall(cjson.decode, s)"}, {"local s = ('['):rep(n)", "pcall(cjson.decode, s)"},
		{"local s = (' '):rep(n)", "pcall(cjson.decode, s)"}, {"", "pcall(cjson.decode)"}, {"local s = '\\0' .. big", "pcall(cjson.decode, s)"}, {"local s = '1' .. ('\\0'):rep(n)", "pcall(cjson.decode, s)"},
	},
	"cjson.encode": {
		{"", "cjson.encode(big)"}, {"local s = ('\\1'):rep(n)", "cjson.encode(s)"}, {"local t = {} for i = 1, n / 64 do t[i] = i end", "cjson.encode(t)"},
		{"local t = {} for i = 1, n / 64 do t[i] = i / 3 end", "cjson.encode(t)"}, {"local t = {} for i = 1, n / 64 do t['k' .. i] = i end", "cjson.encode(t)"}, {"local t = {[big] = big}", "cjson.encode(t)"},
		{"", "pcall(cjson.encode, {big, pcall})"}, {"local t = {} for i = 1, n / 64 do t[i] = i end t[1e9] = 1", "pcall(cjson.encode, t)"}, {"", "pcall(cjson.encode, 0/0)"},
		{"local t = {} for i = 1, n / 64 do t['k' .. i] = i end for i = 1, n / 64 do t['k' .. i] = nil end", "cjson.encode(t)"},
		{"local t = {} for i = 1, math.min(n, 2000) do t = {t} end", "pcall(cjson.encode, t)"}, {"", "pcall(cjson.encode)"}, {"", "pcall(cjson.encode, {[true] = big})"},
	},
	"cjson.new":                     {{"", "cjson.new()"}},
	"cjson.decode_invalid_numbers":  optionCases("cjson.decode_invalid_numbers"),
	"cjson.decode_max_depth":        optionCases("cjson.decode_max_depth"),
	"cjson.encode_invalid_numbers":  optionCases("cjson.encode_invalid_numbers"),
	"cjson.encode_keep_buffer":      optionCases("cjson.encode_keep_buffer"),
	"cjson.encode_max_depth":        optionCases("cjson.encode_max_depth"),
	"cjson.encode_number_precision": optionCases("cjson.encode_number_precision"),
	"cjson.encode_sparse_array":     optionCases("cjson.encode_sparse_array"),

	"coroutine.create": {{"", "pcall(coroutine.create, big)"}}, "coroutine.resume": {{"", "pcall(coroutine.resume, big)"}}, "coroutine.running": {{"", "coroutine.running(big)"}},
	"coroutine.status": {{"", "pcall(coroutine.status, big)"}}, "coroutine.wrap": {{"", "pcall(coroutine.wrap, big)"}}, "coroutine.yield": {{"", "pcall(coroutine.yield, big)"}},

	"math.abs": numberCases("math.abs"), "math.acos": numberCases("math.acos"), "math.asin": numberCases("math.asin"), "math.atan": numberCases("math.atan"), "math.ceil": numberCases("math.ceil"),
	"math.cos": numberCases("math.cos"), "math.cosh": numberCases("math.cosh"), "math.deg": numberCases("math.deg"), "math.exp": numberCases("math.exp"), "math.floor": numberCases("math.floor"),
	"math.frexp": numberCases("math.frexp"), "math.log": numberCases("math.log"), "math.log10": numberCases("math.log10"), "math.modf": numberCases("math.modf"), "math.rad": numberCases("math.rad"),
	"math.sin": numberCases("math.sin"), "math.sinh": numberCases("math.sinh"), "math.sqrt": numberCases("math.sqrt"), "math.tan": numberCases("math.tan"), "math.tanh": numberCases("math.tanh"),
	"math.atan2": pairCases("math.atan2"), "math.fmod": pairCases("math.fmod"), "math.ldexp": pairCases("math.ldexp"), "math.mod": pairCases("math.mod"), "math.pow": pairCases("math.pow"),
	"math.max": foldCases("math.max"), "math.min": foldCases("math.min"),
	"math.random":     {{"", "math.random()"}, {"", "math.random(7)"}, {"", "math.random(1, 7)"}, {"", "pcall(math.random, 0)"}, {"", "pcall(math.random, big)"}, {"", "pcall(math.random, 1, 2, big)"}},
	"math.randomseed": numberCases("math.randomseed"),

	"redis.acl_check_cmd":      {{"", "redis.acl_check_cmd('SET', big, big)"}, {"", "pcall(redis.acl_check_cmd, big)"}, {"", "pcall(redis.acl_check_cmd, {})"}, {"", "pcall(redis.acl_check_cmd)"}},
	"redis.breakpoint":         {{"", "redis.breakpoint()"}},
	"redis.call":               callCases("redis.call"),
	"redis.debug":              {{"", "redis.debug(big)"}},
	"redis.error_reply":        {{"", "redis.error_reply(big)"}, {"local s = 'E ' .. ('\\n'):rep(n)", "redis.error_reply(s)"}, {"", "redis.error_reply()"}, {"", "redis.error_reply({})"}},
	"redis.log":                {{"", "redis.log(redis.LOG_DEBUG, big)"}, {"", "pcall(redis.log, big, 1)"}, {"local s = ('1'):rep(n)", "pcall(redis.log, s, 1)"}, {"", "pcall(redis.log)"}},
	"redis.pcall":              callCases("redis.pcall"),
	"redis.replicate_commands": {{"", "redis.replicate_commands()"}},
	"redis.set_repl":           {{"", "redis.set_repl(redis.REPL_ALL)"}, {"", "redis.set_repl(big)"}, {"local s = ('1'):rep(n) .. 'x'", "redis.set_repl(s)"}, {"local s = ('1'):rep(n)", "pcall(redis.set_repl, s)"}, {"", "pcall(redis.set_repl)"}},
	"redis.setresp":            {{"", "redis.setresp(3)"}, {"local s = ('1'):rep(n)", "pcall(redis.setresp, s)"}, {"", "pcall(redis.setresp, big)"}, {"", "pcall(redis.setresp)"}},
	"redis.sha1hex":            {{"", "redis.sha1hex(big)"}, {"", "pcall(redis.sha1hex)"}},
	"redis.status_reply":       {{"", "redis.status_reply(big)"}, {"", "redis.status_reply()"}},
	"redis.register_function":  {{"", "pcall(redis.register_function, big)"}},

	"string.byte":  {{"", "string.byte(big, 1, math.min(n, 7000))"}, {"", "pcall(string.byte, big, 1, 8000000)"}, {"", "string.byte(big, -1)"}, {"", "pcall(string.byte, big, big)"}, {"", "pcall(string.byte)"}},
	"string.char":  {{"local t = {} for i = 1, math.min(n, 7000) do t[i] = 65 end", "string.char(unpack(t))"}, {"local t = {} for i = 1, math.min(n, 7000) do t[i] = 65 end t[#t] = 999", "pcall(string.char, unpack(t))"}, {"", "pcall(string.char, big)"}},
	"string.dump":  {{"", "pcall(string.dump, pcall)"}, {"", "pcall(string.dump, big)"}},
	"string.find":  append(searchCases("string.find"), lawCase{"", "string.find('', big)"}, lawCase{"", "string.find('', big, 1, true)"}, lawCase{"local s = ('a'):rep(n) local w = ('a'):rep(n / 2 - 1) .. 'b'", "string.find(s:sub(1, 10000), w:sub(-5000), 1, true)"}, lawCase{"", "string.find(big, 'y', 1, true)"}, lawCase{"", "string.find(big, big, 1, true)"}),
	"string.match": searchCases("string.match"),
	"string.gfind": iteratorCases("string.gfind"), "string.gmatch": iteratorCases("string.gmatch"),
	"string.format": {
		{"", "string.format(big)"}, {"", "string.format('%s', big)"}, {"", "string.format('%q', big)"}, {"local s = ('\\n'):rep(n)", "string.format('%q', s)"}, {"", "string.format('%.5s', big)"}, {"", "string.format('%99.99s', big)"},
		{"local s = ('1'):rep(n)", "string.format('%d', s)"}, {"", "string.format('%.99f', 1e300)"}, {"", "string.format('%99d', 1)"}, {"", "string.format('%c%x%e%g', 1, 2, 3, 4.5)"},
		{"local s = ('%s'):rep(100)", "pcall(string.format, s)"}, {"local s = ('%%'):rep(n / 2) .. '%y'", "pcall(string.format, s, 1)"}, {"", "pcall(string.format, '%s%s%s%y', big, big, big)"}, {"", "pcall(string.format, '%d', big)"},
		{"local s = '%' .. ('0'):rep(n) .. 'd'", "pcall(string.format, s, 1)"}, {"", "pcall(string.format, '%123d', 1)"}, {"", "pcall(string.format)"},
	},
	"string.gsub": {
		{"", "string.gsub(big:sub(1, 70000), 'x', 'y')"}, {"", "string.gsub(big:sub(1, 70000), '', '-')"}, {"", "string.gsub(big:sub(1, 70000), '', '')"}, {"", "string.gsub('a', 'a', big)"}, {"", "string.gsub(big, 'y', 'z')"},
		{"local r = ('%1'):rep(n / 2)", "string.gsub('aaa', '(x*)', r:sub(1, 70000))"}, {"local r = ('%0'):rep(n / 2)", "string.gsub('aaa', 'a', r)"}, {"local r = ('%1'):rep(n / 2)", "string.gsub('aaa', '()', r:sub(1, 70000))"},
		{"", "string.gsub(big:sub(1, 70000), '.', function(c) return c end)"}, {"local t = {x = 'y'}", "string.gsub(big:sub(1, 70000), '.', t)"}, {"local t = {}", "string.gsub(big, '.+', t)"}, {"", "string.gsub(big, '^x', 'y')"},
		{"local r = ('a'):rep(n) .. '%9'", "pcall(string.gsub, 'aaa', 'a', r)"}, {"", "pcall(string.gsub, big, 'x', function() return {} end)"}, {"", "pcall(string.gsub, big, 'x')"}, {"", "pcall(string.gsub, 'x', '[' .. big, '')"},
		{"", "string.gsub('', big, '')"}, {"", "pcall(string.gsub, big, '(', '')"}, {"", "string.gsub(big, 'x', 'y', 1)"},
	},
	"string.len": {{"", "string.len(big)"}, {"", "pcall(string.len)"}}, "string.lower": mappedCases("string.lower"), "string.upper": mappedCases("string.upper"), "string.reverse": mappedCases("string.reverse"),
	"string.rep": {{"", "string.rep('x', n)"}, {"", "string.rep('', n)"}, {"", "string.rep(big, 2)"}, {"", "string.rep(big, 0)"}, {"", "pcall(string.rep, big, big)"}, {"", "pcall(string.rep)"}},
	"string.sub": {{"", "string.sub(big, 2)"}, {"", "string.sub(big, 5, 4)"}, {"", "pcall(string.sub, big, big)"}, {"", "pcall(string.sub)"}},

	"struct.pack": {
		{"", "struct.pack('>I4d', 1, 2)"}, {"", "struct.pack('s', big)"}, {"local f = ('b'):rep(math.min(n, 7000))", "pcall(struct.pack, f, 1)"}, {"local f = ('x'):rep(n)", "struct.pack(f)"}, {"local f = (' '):rep(n)", "struct.pack(f)"},
		{"", "pcall(struct.pack, 'sss?', big, big, big)"}, {"", "pcall(struct.pack, 'c' .. n + 1, big)"}, {"local f = 'i' .. ('0'):rep(n) .. '1'", "struct.pack(f, 1)"}, {"local f = 'i' .. ('0'):rep(n) .. '99'", "pcall(struct.pack, f, 1)"},
		{"", "pcall(struct.pack, 'd', big)"}, {"", "pcall(struct.pack, '!3')"}, {"", "pcall(struct.pack)"}, {"local f = ('\\0'):rep(n)", "struct.pack(f)"},
	},
	"struct.size": {
		{"", "struct.size('>I4d')"}, {"local f = ('x'):rep(n)", "struct.size(f)"}, {"local f = 'i' .. ('0'):rep(n) .. '1'", "struct.size(f)"}, {"local f = ('x'):rep(n) .. 's'", "pcall(struct.size, f)"}, {"local f = ('9'):rep(n)", "pcall(struct.size, 'c' .. f)"},
		{"local f = '\\0' .. big", "struct.size(f)"}, {"", "pcall(struct.size)"},
	},
	"struct.unpack": {
		{"local s = struct.pack('>I4d', 1, 2)", "struct.unpack('>I4d', s)"}, {"local s = big .. '\\0'", "struct.unpack('s', s)"}, {"", "pcall(struct.unpack, 's', big)"}, {"local f = ('b'):rep(math.min(n, 7000))", "struct.unpack(f, big)"}, {"local f = ('x'):rep(n)", "struct.unpack(f, big)"},
		{"local s = ('1'):rep(n) .. '\\0'", "pcall(struct.unpack, 'sc0', s)"}, {"", "pcall(struct.unpack, 'c' .. n + 1, big)"}, {"", "struct.unpack('c' .. n, big)"}, {"", "pcall(struct.unpack, 'd', '', big)"}, {"", "pcall(struct.unpack, 'b', '', -1)"}, {"", "pcall(struct.unpack)"},
	},

	"table.concat": {
		{"local t = {} for i = 1, n / 64 do t[i] = 'abc' end", "table.concat(t)"}, {"local t = {} for i = 1, n / 64 do t[i] = i / 3 end", "table.concat(t)"}, {"local t = {'', '', ''}", "table.concat(t, big)"}, {"local t = {big, big}", "table.concat(t)"},
		{"local t = {'', '', '', {}}", "pcall(table.concat, t, big)"}, {"local t = {big, big, big, {}}", "pcall(table.concat, t)"}, {"local t = {} for i = 1, n / 64 do t[i] = i / 3 end t[#t + 1] = {}", "pcall(table.concat, t)"}, {"", "pcall(table.concat, {}, '', 1, 2)"}, {"", "pcall(table.concat, big)"},
	},
	"table.foreach":  {{"local t = {} for i = 1, n / 64 do t['k' .. i] = i end", "table.foreach(t, function() end)"}, {"local t = {} for i = 1, n / 64 do t[i] = i end for i = 1, n / 64 do t[i] = nil end", "table.foreach(t, function() end)"}, {"", "pcall(table.foreach, {}, big)"}, {"", "pcall(table.foreach)"}},
	"table.foreachi": {{"local t = {} for i = 1, n / 64 do t[i] = i end", "table.foreachi(t, function() end)"}, {"local t = {1, 2}", "pcall(table.foreachi, t, error)"}, {"", "pcall(table.foreachi, {}, big)"}},
	"table.getn": {
		{"local t = {} for i = 1, n / 64 do t[i] = i end", "table.getn(t)"}, {"local t = {} for i = n / 64, 1, -1 do t[i] = i end", "table.getn(t)"}, {"", "pcall(table.getn, big)"},
		{"local t, p = {}, 2 ^ math.floor(math.log(n / 64) / math.log(2)) for i = 1, p do t[i] = i end local h = p + 1 local k = h * 2 while k < 2 ^ 31 do t[k] = 1 k = k * 2 end t[h] = 1", "table.getn(t)"},
	},
	"table.insert": {
		{"local t = {}", "table.insert(t, i)"}, {"local t = {} for i = 1, n / 64 do t[i] = i end", "table.insert(t, 1, i) t[#t] = nil"}, {"", "pcall(table.insert, {}, big, 1)"}, {"", "pcall(table.insert, _G, 1)"}, {"", "pcall(table.insert, {})"},
	},
	"table.maxn":   {{"local t = {} for i = 1, n / 64 do t['k' .. i] = i end", "table.maxn(t)"}, {"local t = {} for i = 1, n / 64 do t[i] = i end for i = 1, n / 64 do t[i] = nil end", "table.maxn(t)"}, {"", "pcall(table.maxn, big)"}},
	"table.remove": {{"local t = {} for i = 1, n / 64 do t[i] = i end", "t[#t + 1] = 1 table.remove(t, 1)"}, {"local t = {}", "t[1] = 1 table.remove(t)"}, {"", "pcall(table.remove, {}, big)"}, {"", "pcall(table.remove, _G)"}, {"", "pcall(table.remove)"}},
	"table.setn":   {{"", "pcall(table.setn, {}, big)"}, {"", "pcall(table.setn, big)"}},
	"table.sort": {
		{"local t = {} for i = 1, math.min(n, 1000) do t[i] = i end", "table.sort(t)"}, {"local t = {} for i = 1, math.min(n, 1000) do t[i] = big:sub(-100) .. i end", "table.sort(t)"}, {"local t = {} for i = 1, math.min(n, 1000) do t[i] = i end", "table.sort(t, function(a, b) return a > b end)"},
		{"local t = {} for i = 1, math.min(n, 1000) do t[i] = i end", "pcall(table.sort, t, function() return true end)"}, {"local t = {1, {}}", "pcall(table.sort, t)"}, {"", "pcall(table.sort, big)"}, {"local a, b = big .. 'a', big .. 'b'", "table.sort({b, a})"},
	},
}

func numberCases(f string) []lawCase {
	return []lawCase{{"", f + "(1.5)"}, {"local s = ('1'):rep(n)", f + "(s)"}, {"local s = '0.' .. ('1'):rep(n)", f + "(s)"}, {"", "pcall(" + f + ", big)"}, {"", "pcall(" + f + ")"}}
}

func pairCases(f string) []lawCase {
	return []lawCase{{"", f + "(1.5, 2.5)"}, {"", f + "(1e308, 3e-300)"}, {"local s = ('1'):rep(n)", f + "(s, s)"}, {"", "pcall(" + f + ", big, 1)"}, {"", "pcall(" + f + ", 1, big)"}, {"", "pcall(" + f + ")"}}
}

func shiftCases(name string) []lawCase { return pairCases("bit." + name) }

func foldCases(f string) []lawCase {
	const many = "local t = {} for i = 1, math.min(n, 7000) do t[i] = i end "
	return append(pairCases(f)[:3], lawCase{many, f + "(unpack(t))"}, lawCase{many + "t[#t] = {}", "pcall(" + f + ", unpack(t))"}, lawCase{"", "pcall(" + f + ", 1, big)"}, lawCase{"", "pcall(" + f + ")"})
}

func optionCases(f string) []lawCase {
	return []lawCase{{"", f + "()"}, {"", "pcall(" + f + ", big)"}, {"local s = ('1'):rep(n)", "pcall(" + f + ", s)"}, {"", "pcall(" + f + ", 1, 2, 3, 4)"}}
}

func mappedCases(f string) []lawCase { return []lawCase{{"", f + "(big)"}, {"", "pcall(" + f + ")"}} }

func searchCases(f string) []lawCase {
	return []lawCase{
		{"", f + "(big, '[^x]')"}, {"", f + "(big:sub(1, 500), '.-y')"}, {"", f + "('key:123', '(%a+):(%d+)')"}, {"", f + "(big, '^y')"}, {"", f + "(big, '()')"}, {"", f + "('x', '[' .. big .. ']')"}, {"", f + "('', big .. '*')"},
		{"", f + "('x', '%f[' .. big .. ']')"}, {"local s = ('('):rep(n)", f + "(s:sub(1, 300), '%b()')"}, {"local s = ('a'):rep(200)", f + "(s, '(a*)b%1')"}, {"", "pcall(" + f + ", big, '(')"}, {"", "pcall(" + f + ", big, '[' .. big)"},
		{"", "pcall(" + f + ", 'x', '%')"}, {"local p = ('('):rep(n)", "pcall(" + f + ", big, p)"}, {"local p = ('x?'):rep(n / 2)", "pcall(" + f + ", big, p)"}, {"", "pcall(" + f + ", big, '', big)"}, {"", "pcall(" + f + ")"},
	}
}

func iteratorCases(f string) []lawCase {
	return []lawCase{
		{"", f + "(big, 'x')"}, {"", "for w in " + f + "(big:sub(1, 70000), '.') do end"}, {"", "for w in " + f + "(big:sub(1, 70000), '') do end"}, {"local w = big .. '*'", "for w in " + f + "('xyxyxy', w) do end"},
		{"", "for w in " + f + "(big, 'y') do end"}, {"", "pcall(" + f + "(big, '('))"}, {"", "pcall(" + f + ")"},
	}
}

func callCases(f string) []lawCase {
	const many = "local t = {'NONE'} for i = 2, math.min(n, 7000) do t[i] = i / 3 end "
	return []lawCase{
		{"", f + "('PING', big)"}, {"", f + "('ECHO', big)"}, {"", f + "('TIME')"}, {"", f + "('EXISTS', 'k')"}, {"redis.call('SET', 'k', big)", f + "('GET', 'k')"}, {"", f + "('SET', 'k', big)"}, {"", f + "('RL.TOKEN', 'k', 10, '1/s')"},
		{"redis.call('RPUSH', 'l', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", f + "('LRANGE', 'l', 0, -1)"}, {"", "pcall(" + f + ", big)"}, {many, "pcall(" + f + ", unpack(t))"}, {many + "t[#t] = {}", "pcall(" + f + ", unpack(t))"}, {many + "t[1] = 'GET'", "pcall(" + f + ", unpack(t))"},
		{many + "t[1] = 'DEL'", f + "(unpack(t))"}, {"", "pcall(" + f + ", 'EVAL', big)"}, {"", "pcall(" + f + ", 'GET', big)"}, {"redis.call('RPUSH', 'l', 1)", "pcall(" + f + ", 'GET', 'l')"}, {"", "pcall(" + f + ", 'SET', 'k', big, big)"},
		{"", "pcall(" + f + ", {})"}, {"", "pcall(" + f + ")"}, {"", "pcall(" + f + ", 'PUBLISH', big, big)"},
	}
}
