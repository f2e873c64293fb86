-- Numbers to text.
local r = {} for _, n in ipairs{1e15, 2^53, 0.1 + 0.2, 1/3, -1e15, 1e14, 1e-4, 1e-5, 123456.789, 1e100, 1/0, -1/0, 0/0, -(0/0), 1795162328.123456, 4294967296, 0.5, 100, 1e16, 12345678901234567890} do r[#r + 1] = tostring(n) .. " " .. n end return r
--
-- Minus zero: the constants of a function share one zero.
return {tostring(-0), tostring(0), tostring(0 * -1), tostring(math.ceil(-0.5)), tostring(-0.0)}
--
return {tostring(0), tostring(-0), (function() return tostring(-0) end)()}
--
return tostring(-0 * select(1, 5, 0))
--
return {tostring(-0 * 5), tostring(0)}
--
local function f(x) return tostring(x) end if 0 then return f(-0) end
--
-- Text to numbers.
local r = {} for _, s in ipairs{"1e3", "0x1p4", "inf", "nan", " 5 ", "5 5", "0x", "1e", "\t7\n", "1_000", "0b1", "1.", ".1", "-.5e-3", "+5", "--5", "1e309", "-1e309", "0xA.8", "infinit", "infinity", "NAN", "nan(x)"} do r[#r + 1] = s .. "=" .. tostring(tonumber(s)) end return r
--
local r = {} for _, t in ipairs{{"11", 2}, {"zz", 36}, {"ff", 16}, {"0xff", 16}, {"-1", 10}, {"-1", 16}, {"8", 8}, {" 7 ", 8}, {"", 16}, {"1e1", 16}, {"99999999999999999999", 11}} do r[#r + 1] = tostring(tonumber(t[1], t[2])) end return r
--
return {pcall(tonumber, "1", 37)}
--
-- Order of pairs and next, borders, maxn.
local r = {} for k, v in pairs{a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, x = 7, y = 8} do r[#r + 1] = k end return table.concat(r)
--
local r = {} for k, v in pairs{10, 20, nil, 40, x = 1, [2.5] = 2, [-1] = 3, [true] = 4, [false] = 5} do r[#r + 1] = tostring(k) end return table.concat(r, " ")
--
local t = {} for i = 1, 10 do t[i] = i end t[5] = nil t[10] = nil return {#t, #{1, nil, 3}, #{nil, 2}, #{1, 2, nil}, table.maxn{[3] = 1, [7.5] = 2, x = 3}, #{n = 3}, table.getn{1, 2}}
--
local t = {} for i = 10, 1, -1 do t[i] = i end local r = {#t} for k in pairs(t) do r[#r + 1] = k end return r
--
local t = {1, 2, 3} t[5] = 5 local a = #t t[4] = 4 local b = #t t[9] = 9 return {a, b, #t}
--
local t = {a = 1, b = 2, c = 3} local n = 0 for k in pairs(t) do t[k] = nil n = n + 1 end return {n, tostring(next(t))}
--
return {next({}, nil), next({5}), next({x = 1}), pcall(next, {}, 1)}
--
return cjson.encode{z = 1, y = {3, 2, 1}, x = {w = {}, v = 0.1}, u = "é/\"", t = true}
--
-- Arithmetic on strings, remainders.
return {"10" + 5, "0x10" * 2, " 3 " - 1, "2" ^ "3", 10 .. 20, -"2", 7 % "4", pcall(function() return "a" + 1 end)}
--
local r = {} for _, p in ipairs{{7, 3}, {-7, 3}, {7, -3}, {-7, -3}, {5.5, 2}, {-5.5, 2}, {5, 1/0}, {-5, 1/0}, {5, -1/0}, {1e15, 7}, {5, 0}, {0, 5}, {-0.0, 5}, {1e300, 3}} do r[#r + 1] = tostring(p[1] % p[2]) end return r
--
local r = {} for _, p in ipairs{{7, 3}, {-7, 3}, {7, -3}, {5.5, 2}, {5, 1/0}, {1/0, 2}, {5, 0}} do r[#r + 1] = tostring(math.fmod(p[1], p[2])) end return r
--
-- Functions of C, to 14 digits.
local r = {} for _, x in ipairs{0, 0.5, 1, 2, 10, 100, -1, 1e-10, 1e10, -0.3} do for _, f in ipairs{"sin", "cos", "tan", "atan", "exp", "log", "log10", "sqrt", "sinh", "cosh", "tanh", "asin", "acos", "floor", "ceil", "abs", "deg", "rad"} do r[#r + 1] = f .. " " .. tostring(math[f](x)) end end return r
--
local r = {} for _, x in ipairs{5e-324, 1e-310, 2.2250738585072014e-308, 1.1e-308, 1e308, 1e-300} do for _, f in ipairs{"log", "log10", "sqrt", "exp", "sin", "tan", "atan", "asin", "sinh", "tanh", "deg", "rad"} do r[#r + 1] = tostring(math[f](x)) end r[#r + 1] = tostring(x ^ 0.5) .. tostring(x ^ -1) .. tostring(math.frexp(x)) .. tostring(math.fmod(x, 1e-310)) .. tostring(math.ldexp(x, 60)) .. tostring(x % 3e-310) end return r
--
return {tostring(2 ^ 0.5), tostring(2 ^ -1), tostring(10 ^ 15), tostring((-8) ^ (1 / 3)), tostring(0 ^ 0), tostring(math.pow(3, 4)), tostring(math.atan2(1, -1)), tostring(math.ldexp(0.5, 5)), tostring(math.pi), tostring(math.huge), math.max(1, 5, 3), math.min(4, 2, 8)}
--
return {tostring(math.modf(3.7)), tostring((select(2, math.modf(3.7)))), tostring(math.modf(-3.7)), tostring((select(2, math.modf(-1/0)))), tostring(math.frexp(8)), (select(2, math.frexp(8)))}
--
-- Errors name variables and lines.
local x = nil return x.y
--
local t = {} return t.a.b
--
local t = {} t.a.b = 1
--
local t = {} t[1][2] = 3
--
local t = {} return t:method()
--
local x = 5 x()
--
local s = "x" return s + 1
--
local a, b = {}, 1 return a < b
--
local a, b = {}, {} return a <= b
--
return 1 < "x"
--
return {} .. "x"
--
local u = nil local function f() return u.x end return f()
--
return #nil
--
return -{}
--
error("boom")
--
error("boom", 0)
--
local function f() error("boom", 2) end
f()
--
error({err = "CODE text"})
--
error()
--
assert(false)
--
assert(nil, "message")
--
assert(1 == 1, "no") return "yes"
--
local ok, e = pcall(error, {err = "x"}) return e
--
return {pcall(function() local x = nil + 1 end)}
--
return {xpcall(function() error("in") end, function(m) return "handled " .. m end)}
--
return {select("#", pcall(error)), pcall(error, nil)}
--
string.rep()
--
("x"):rep({})
--
local f = string.format f("%d", "x")
--
-- Global variables.
return undefined
--
undefined = 1
--
function undefined() end
--
local t = setmetatable({}, {__index = _G}) return t.undefined
--
table.concat = nil
--
return {type(print), 1}
--
return os.time()
--
return setfenv(1, {})
--
-- Random numbers after a seed.
math.randomseed(42) return {math.random(1000), math.random(5, 10), tostring(math.random()), math.random(2 ^ 31 - 1)}
--
-- Comparison of strings by bytes.
return {tostring("a" < "b"), tostring("a" < "B"), tostring("" < "a"), tostring("a\0b" < "a\0c"), tostring("Z" < "a"), tostring("10" < "9"), tostring("\200" > "z"), tostring("a" <= "a")}
--
-- Syntax that Lua 5.1 does not have.
local r = {} for _, s in ipairs{"goto x", "::x::", "x = 1 // 2", "x = 1 << 2", "x = 1 & 2", "x = ~1", "local x <const> = 1", "x = '\\z  a'", "x = '\\x41'", "x = '\\u{41}'", "break", "do break end", "while 1 do break x() end", "return 1 return 2", "f() g()", "x = 0b1", "x = 1e", "x = 0xg", "for i = 1 do end", "for in x do end", "local function f.x() end", "x = function() end end", "if x then else elseif y then end", ";", "f() ; ; g()", "a, b += 1", "x ++", "a.1 = 2", "x = {1 2}", "x = {[1] 2}", "x = {a = }", "return ...", "function f() return ... end", "function f(..., a) end", "x = \"a\nb\"", "x = [==[a]=]", "--[==[ a", "x = 'a\\\nb'", "#!x", "\27Lua"} do local f, e = loadstring(s) r[#r + 1] = s .. " -> " .. tostring(f and "ok" or e) end return r
--
-- string.format.
return {string.format("%q", "a\0b\n\"\\\r"), string.format("%c%c", 65, 66), string.format("%i %u %d", -1, -1, 3.99), string.format("%5.2s|%-5s|%5s", "abc", "a", "b"), string.format("%x %X %o %#x", 255, 255, 8, 255), string.format("%e %E %g %G", 1e10, 1e-10, 1e20, 0.1), string.format("%05d %+d % d", 42, 42, 42), string.format("%.3f %.0f %10.2f", 2.0005, 2.5, 3.14159), string.format("%s %s", 1e15, true and "x"), string.format("%%")}
--
local r = {} for _, f in ipairs{"%d", "%y", "%", "%10", "%1.1.1f", "%123d", "%.123d", "%-+ #0-d", "%s", "%c"} do r[#r + 1] = tostring((select(2, pcall(string.format, f)))) end return r
--
return {string.format("%s", "a\0b"), #string.format("%s", ("x"):rep(98) .. "\0b"), #string.format("%s", ("x"):rep(99) .. "\0b"), #string.format("%.200s", ("x"):rep(99) .. "\0b"), string.format("%q", "\1\200")}
--
-- Patterns.
local r = {} for _, p in ipairs{"^%s*(.-)%s*$", "%d+", "(%a+) (%a+)", "[%w_]+", "%b()", "%f[%w]%w+", "()x()", "[^,]+", "a-b", ".-", "%$", "[]]", "[^]]", "[a%-z]", "%z", "(a)(b)?", "^", "$", "%", "[", "(", ")", "%1", "(%1)", "%f", "%b", "x*", "[a-]", "[%a-z]"} do local ok, a, b, c = pcall(string.find, "  the (quick) fox, x = 42  ", p) r[#r + 1] = p .. " " .. tostring(a) .. " " .. tostring(b) .. " " .. tostring(c) end return r
--
return {("abc"):gsub("%w", "%0%0"), ("abc"):gsub("", "-"), ("hello world"):gsub("o", "0", 1), ("abc"):gsub("b", "%%"), ("abc"):gsub("(b)", "<%1>"), ("a b c"):gsub("%s", {[" "] = "_"}), ("abc"):gsub("b", function() return false end), ("x"):gsub("x", "%1"), ("abc"):gsub("^a", "b"), ("aaa"):gsub("^a", "b")}
--
local r = {} for k, v in string.gmatch("a=1, b=2", "(%w+)=(%w+)") do r[#r + 1] = k .. v end for w in string.gfind("one two", "%a+") do r[#r + 1] = w end return r
--
return {("abc"):find("b", 1, true), ("a.c"):find(".", 1, true), ("abc"):find("b", -1), ("abc"):find("", 10), ("abc"):find("", 4), ("a\0b"):find("\0", 1, true), ("a\0b"):find("b")}
--
return {("hello"):sub(2, -2), ("hello"):sub(-100, 2), ("hello"):sub(4), ("hello"):sub(0), ("hello"):sub(5, 1), ("hello"):byte(1, 3), ("hello"):upper(), ("a\0b"):len(), ("abc"):reverse(), ("ab"):rep(3), ("ab"):rep(0), ("ab"):rep(-1), string.char(104, 105)}
--
-- Functions that stay, and their limits.
return {select("#", unpack({}, 1, 7997)), pcall(unpack, {}, 1, 7998)}
--
return {type(loadstring("return 1")), loadstring("return ...")(5), loadstring("return", "=x") ~= nil, load(function() end) ~= nil, pcall(load, 5)}
--
local parts, i = {"return ", "4", "2"}, 0 return load(function() i = i + 1 return parts[i] end)()
--
local t = setmetatable({}, {__call = function(self, a) return a * 2 end, __tostring = function() return "T" end, __unm = function() return 7 end, __concat = function(a, b) return "joined" end}) return {t(4), tostring(t), -t, t .. "x", 1 .. t}
--
local mt = {__eq = function() return true end, __lt = function() return true end, __le = function() return false end} local a, b = setmetatable({}, mt), setmetatable({}, mt) return {tostring(a == b), tostring(a ~= b), tostring(a < b), tostring(a <= b), tostring(a > b), tostring(a == 1)}
--
local log = {} local t = setmetatable({}, {__newindex = function(t, k, v) rawset(t, k, v * 2) end, __index = function(t, k) return k .. "?" end}) t.x = 5 return {t.x, t.y, rawget(t, "y") == nil and 1 or 0}
--
local p = setmetatable({}, {__metatable = "locked"}) return {getmetatable(p), pcall(setmetatable, p, {})}
--
-- A loop begins with the start less the step plus the step.
local r = {} for i = -0, 1 do r[#r + 1] = tostring(i) end for i = 0.1, 1, 1e17 do r[#r + 1] = tostring(i) end for i = 5e-324, 1 do r[#r + 1] = tostring(i) end return r
--
-- Names of operands behind ones that decide nothing.
local e, c, b = {}, 1, 2 local r = {} for _, f in ipairs{function() return (c and nil or b.x) + 1 end, function() local e = {} return (c and nil or e) ^ 2 end, function() return (b and c and false or nothing) .. "" end,
function() local e = {} return (c or true) and e + 1 end, function() local e = {} return ((c or 1) and e) + 1 end, function() local e = {} return (c and e) + 1 end, function() local e = {} return (c or b or "x" and e) + 1 end,
function() local e = {} return (nil or (c and nil or e)) + 1 end, function() local e = {} return ((c and nil) and nil or e) + 1 end, function() local e = {} return ((b and c == 2 or nil) and nil or e).x.y end, function() return (c and nil or e)() end,
function() local e = {} return ((not c) and nil or e) + 1 end, function() local e = {} return ((c == 1 or true) and e) + 1 end, function() local e = {} return (b and nil or c and nil or e) + 1 end} do r[#r + 1] = tostring(select(2, pcall(f))) end return r
