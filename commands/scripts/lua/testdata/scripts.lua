return {pcall(function() error({err="X"}) end)}
--
local a,b = pcall(function() error({err="X",z=1}) end) return type(b)
--
local a,b = pcall(function() error({1}) end) return type(b)
--
local a,b = xpcall(function() error({err="X"}) end, function(e) return e end) return type(b)
--
local a,b = pcall(function() local x = nil; x() end) return b
--
assert(false)
--
assert(nil,"foo")
--
local t={[1]=1} t.x.y.z=1
--
local t={} t[1].x=1
--
local t={} t.x()
--
local t={} t:x()
--
string.foo()
--
local a,b return a<b
--
local a,b={},{} return a<b
--
return {} .. "x"
--
local t={} return "x"..t.y.."z"
--
return #5
--
return -{}
--
for i="a",2 do end
--
for i=1,{} do end
--
for i=1,2,{} do end
--
for i="1",2 do return i end
--
for k in 5 do end
--
local x; local function f() return x.y end return f()
--
return (nil or false).x
--
local t={} return (t.a or t.b).x
--
local a,b return (a or b).x
--
local a return a.b.c
--
return ({}).x.y
--
return ("x").y.z
--
local s="x" return s.y.z
--
return #nil
--
local t={} t[nil]=1
--
local t={} t[0/0]=1
--
local f=string.rep f()
--
local s=("x"):bad()
--
return 1 < "2"
--
return {1} < 2
--
return nil > 1
--
local a = 1 + {}
--
local a = {} + 1
--
return 2^{}
--
local function f() f() end f()
--
local t = setmetatable({},{__index=function(t,k) error("idx "..k) end}) return t.q
--
local t = setmetatable({},{__index=function(t,k) error("idx "..k,2) end}) return t.q
--
return tostring(setmetatable({},{__tostring=function() return 5 end}))
--
local t = setmetatable({},{__concat=function(a,b) return "c" end}) return t..1
--
local t = setmetatable({},{__len=function(a) return 7 end}) return #t
--
local t = {} setmetatable(t,{__index=t}) return t.x
--
local n=0 local t={} for i=1,120 do t=setmetatable({},{__index=t}) end return t.x
--
return math.floor("x")
--
return ("%d"):format("3")
--
return unpack({1,2,3})
--
return string.char(1,2,300)
--
return tostring()
--
return type()
--
return #ARGV, nil
--
return 07 + 1e1 + 0xA
--
return 1 .. 2
--
return select("#", nil, nil)
--
return {arg}
--
local function f(...) return arg.n end return f(1,2)
--
local function f(...) local x=... return arg end return f(1,2)
--
return {pcall(string.find,("a"):rep(300), ("a?"):rep(300))}
--
return {pcall(string.find,("a"):rep(300), ("(a"):rep(40))}
--
return {string.find("abc","b\0x")}
--
return {string.gsub("abc","b","%")}
--
return {string.gsub("hello world","o","%1")}
--
return {pcall(string.gsub,"hello world","o","%2")}
--
return {pcall(string.gsub,"hello","(l","x")}
--
return {string.find("a()b","()b")}
--
return {pcall(string.find,"abc","()%1")}
--
return {string.gsub("abc","","-")}
--
return {string.gsub("THE (quick) fox","%f[%a]%a+","X")}
--
return {string.gsub("abc def","%w+",{abc="z",def=false})}
--
return {pcall(string.gsub,"abc def","%w+",function() return {} end)}
--
return {string.find("a[b","[[]")}
--
return {string.find("a]b","[]]")}
--
return {pcall(string.find,"a]b","[]")}
--
return {pcall(string.find,"a]b","[a-")}
--
return {pcall(string.find,"a]b","[%")}
--
return {pcall(string.find,"a]b","%")}
--
return {string.find("a-b","[a%-]",2)}
--
return {("x"):gsub("x","%%")}
--
local t={} for a,b in ("k=v, x=y"):gmatch("(%w+)=(%w+)") do t[#t+1]=a..b end return t
--
local t={} for a in ("aXb"):gmatch("") do t[#t+1]=#a end return t
--
local t={} for a in ("^a^"):gmatch("^a") do t[#t+1]=a end return t
--
return {pcall(string.gsub,"a","a")}
--
return {pcall(string.gsub,"a","a",nil)}
--
return {("abc"):byte(10), ("abc"):byte(-1)}
--
return #{("x"):rep(7997):byte(1,-1)}
--
return {pcall(string.byte,("x"):rep(8000),1,-1)}
--
return pcall(function() return #{("x"):rep(8000):byte(1,-1)} end)
--
return {string.gsub("abc","b",function() return 5 end)}
--
return {string.gsub("abc","%w",{a=1,b="",c=true and "Q"})}
--
return {string.find("abc","b",-1), string.find("abc","",10), string.find("","")}
--
return {string.find("abc","c",-100)}
--
return {string.sub("abc",-100,100),string.sub("abc",2,1),string.sub("abc",0)}
--
return table.concat({1,2.5,"x"},",")
--
local t={} for i=1,20 do t[i]=i end for i=1,20,2 do t[i]=nil end return #t
--
return math.floor(-3.5)
--
local t = {10,20,30,nil} return {#t, #{1,nil,3}, #{nil,nil,3}, #{n=1,1,2,nil}}
--
return {loadstring("local a <const> = 1")}
--
local s = "return "..("("):rep(190).."1"..(")"):rep(190) return {loadstring(s)~=nil}
--
local n for i=150,260 do local s = "return "..("("):rep(i).."1"..(")"):rep(i) if not loadstring(s) then return {i,(select(2,loadstring(s)))} end end
--
local n for i=150,260 do local s = ("do "):rep(i)..("end "):rep(i) if not loadstring(s) then return {i,(select(2,loadstring(s)))} end end
--
for i=100,300 do local s = "f("..("1,"):rep(i).."1)" if not loadstring(s) then return {i,(select(2,loadstring(s)))} end end
--
for i=100,300 do local s = "return "..("x.."):rep(i).."x" if not loadstring(s) then return {i,(select(2,loadstring(s)))} end end
--
for i=100,300 do local s = ("x,"):rep(i).."x=1" if not loadstring(s) then return {i,(select(2,loadstring(s)))} end end
--
for i=100,300 do local s = "local "..("x,"):rep(i).."x=1" if not loadstring(s) then return {i,(select(2,loadstring(s)))} end end
--
local d=0 local function f() d=d+1 f() end pcall(f) return d>16000 and d<=20000
--
local d=0 local function f() d=d+1 f() end f()
--
local d=0 local t=setmetatable({},{}) getmetatable(t).__index=function(t,k) d=d+1 return t[k+1] end local ok,e=pcall(function() return t[1] end) return {d,e}
--
local d=0 local function g() d=d+1 return (("x"):gsub("x",g)) end local ok,e=pcall(g) return {d,e}
--
return {pcall(string.rep)}
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(string.format('%s','a\0b'), #string.format('%s','a\0b')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(string.format('%5.1s|','abc')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(string.format('%q','a\0b\n\r"\\')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(string.format('%d',-3.7), string.format('%d',1e30), string.format('%x',-1), string.format('%u',-5),string.format('%u',1e19),string.format('%x',0/0),string.format('%d',0/0)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.format,'%y',1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.format,'%123d',1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.format,'%------d',1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.format,'%-----d',1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.format,'%')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.format,'%d','x')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.format,'%d')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(string.format('%g %e %f %G %E', 0/0, 1/0, -1/0, 0/0, 1/0)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(string.format('%#x %#o %+d % d %05d %-5d| %.3d %05.1f %i %c%c', 255, 8, 5, 5, 42, 42, 7, 3.14159, 9, 65, 0)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(string.format('%010g|%-10g|%+g|%#g',1.5,1.5,1.5,1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(string.format('%.99f',1/3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.rep,'x',-1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(tonumber('0x10'),tonumber('0x1p4'),tonumber('inf'),tonumber('nan'),tonumber('1e'),tonumber('0x'),tonumber(''),tonumber(' '),tonumber('1 2'),tonumber('5e+3 '),tonumber('\t5\n'),tonumber('-0x10'),tonumber('- 1'),tonumber('1_0'),tonumber('infinity'),tonumber('nan(12)'),tonumber('1e400'),tonumber('0x.8'),tonumber('.5'),tonumber('5.'),tonumber('.')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(tonumber('10',2),tonumber('zz',36),tonumber('8',8),tonumber('-ff',16),tonumber('0xff',16),tonumber(' 11 ',2),tonumber('1.5',10),tonumber('7fffffffffffffffff',16),tonumber(10,2),tonumber('',2)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(tonumber)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(tonumber,'1',1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(tonumber,'1',37)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(tonumber,{},10)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(select('#',tonumber(nil))) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(select,0)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(select(-1,1,2,3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(select,-5,1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(select('#')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(unpack,{},1,7998)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(unpack,{},1,8000)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(unpack,{},1,1e10)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(setmetatable,1,{})) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(setmetatable,{},1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(setmetatable,{})) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(setmetatable,setmetatable({},{__metatable=1}),{})) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(getmetatable(setmetatable({},{__metatable=1}))) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(ipairs)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(pairs,1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(next,{},'x')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(rawset,1,2,3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(rawset,{},nil,3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(table.concat,{1,{},3})) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(table.concat,{1,nil,3},',',1,3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(table.insert,{},1,2,3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(table.insert,{})) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(table.setn,{},1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(table.sort,{3,2,'x'})) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(table.sort,{1,2,3},1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(table.sort,{5,3,4,1,2,6,9,8,7},function() return true end)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(collectgarbage('collect'), collectgarbage('step'), collectgarbage('setpause',100), collectgarbage('stop'),collectgarbage('restart'), collectgarbage()) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(collectgarbage,'x')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(assert,false)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(assert,nil,'m')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(assert)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(assert(1,2,3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(assert,false,{})) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(xpcall(function() error('x',0) end, function(e) return e..'y' end)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(xpcall(function() error('x',0) end, function(e) error('z') end)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(xpcall)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(xpcall,1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(pcall)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(error,'x')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(error,'x',1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(error,'x',2)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(error,'x',3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(function() error('q') end)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(function() error('q',2) end)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(function() error('q',3) end)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.dump, string.rep)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.char,256)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.char,-1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(string.byte,'abc',1,-1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(math.random,0)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(math.random,2,1)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(math.random,1,2,3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(math.floor,{})) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(math.max)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(math.frexp(10)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(math.modf(-3.5)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(math.modf(1/0)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(math.ldexp(1,3)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(math.log(10)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(math.ceil(-0.5)) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(pcall(loadstring,'x')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x=')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('return 1','=abc')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('return x y','@abc')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x\ny z')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('goto x')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = 1 // 2')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = "\\x41"')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring("x = '\\300'")) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = "abc')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = [[abc')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('--[[abc')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = [=abc')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = [[a [[ b ]]')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = 3x')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = 0x')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('break')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('for i do end')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('for i=1 do end')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('if x then')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('if x then\n\nelse x')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('f\n(x)')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('local function f() return ... end')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x=}')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x={1,2')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x={\n1,2')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('return return')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = "a\nb"')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = ~1')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = \1')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('f() = 1')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('(f)')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('a.b:c = 1')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('local a.b = 1')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('function f(a,) end')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = a..')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = "\\9999"')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('x = #')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('local x <const> = 1')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('return;;')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring(';')) return r
--
local r={} local function add(...) for i=1,select('#',...) do r[#r+1]=tostring((select(i,...))) end end add(loadstring('#!shebang\nreturn x')) return r
--
local n={} for k,v in pairs(_G) do if k ~= "redis" and k ~= "cmsgpack" and k ~= "__redis__err__handler" then n[#n+1]=k..":"..type(v) end end table.sort(n) return n
--
local n={} for _,l in ipairs{"string","table","math","bit","cjson","struct","coroutine"} do for k,v in pairs(_G[l]) do n[#n+1]=l.."."..k..":"..type(v) end end table.sort(n) return n
--
return {tostring(getmetatable("").__index == string), tostring(getmetatable(_G) ~= nil), type(getmetatable(_G).__index), tostring(_G._G == _G), tostring(_G.KEYS == KEYS), KEYS[1], ARGV[1], _VERSION}
--
getmetatable("").__index = 1
--
getmetatable(_G).__index = nil
--
x = 1
--
local function f() x = 1 end f()
--
return rawget(_G, "x")
--
rawset(_G, "x", 1)
--
setmetatable(_G, {})
--
string.x = 1
--
table.insert(math, 1)
--
KEYS = 1
--
KEYS[1] = 2 KEYS.x = 3 return {KEYS[1], KEYS.x}
--
return _G.nothing
--
return _G[1]
--
return pcall(function() return nothing end)
--
local ok, e = pcall(function() return nothing end) return e
--
local t = {16} for i = 1, 16 do t[i] = i end return {#{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,tostring(17)}, #{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,nil,tostring(17)}, #{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,nil,type(1)}, #{nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,type(1)}}
--
local t = {nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,unpack({1})} t[19] = 1 return {#t, table.maxn(t)}
--
local t = {nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,nil,type(1)} t[19] = 1 t[17] = 1 return {#t, table.maxn(t)}
--
local t = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,x=1,51,[1]=9,[52]=7,52} return {#t, t[1], t[51], t[52]}
--
math.randomseed(5) return {math.random(100),math.random(100),tostring(math.random()),math.random(5,10),math.random(-3,3),math.random(2147483647)}
--
math.randomseed(-1) local t = {} for i = 1, 50 do t[i] = math.random(1000) end return t
--
math.randomseed(2^31) return tostring(math.random())
--
local t = {} for i = 1, 200 do t[i] = (i * 7919) % 211 end table.sort(t, function(a, b) return a > b end) return table.concat(t, ",")
--
local t = {} for i = 1, 100 do t[i] = {k = i % 5, i = i} end table.sort(t, function(a, b) return a.k < b.k end) local r = {} for i, v in ipairs(t) do r[i] = v.i end return r
--
local n = 0 local t = {} for i = 1, 50 do t[i] = (i * 31) % 17 end table.sort(t, function(a, b) n = n + 1 return a < b end) return n
--
local t = {} for i = 1, 100 do t["key" .. i] = i end local r = {} for k, v in pairs(t) do r[#r + 1] = k end return r
--
local t = {} for i = 1, 100 do t["key" .. i] = i end for i = 1, 100, 3 do t["key" .. i] = nil end for i = 1, 20 do t["new" .. i] = i end local r = {} for k, v in pairs(t) do r[#r + 1] = k end return r
--
local t = {} for i = 1, 60 do t[i * 1.5] = i t[-i] = i end local r = {} for k, v in pairs(t) do r[#r + 1] = tostring(k) end return r
--
local t = {} for i = 1, 30 do t[2 ^ i] = i t[2 ^ i + 0.1] = i end local r = {} for k, v in pairs(t) do r[#r + 1] = tostring(k) end return r
--
local t = {} for i = 1, 70 do t[#t + 1] = i end for i = 70, 20, -1 do t[i] = nil end t.x = 1 t.y = 2 t[100] = 5 local r = {#t} for k, v in pairs(t) do r[#r + 1] = tostring(k) end return r
--
local t = {} local s = "x" for i = 1, 40 do s = s .. string.char(65 + i % 26) t[s] = i end local r = {} for k, v in pairs(t) do r[#r + 1] = v end return r
--
local t = {} t[("a"):rep(100)] = 1 t[("a"):rep(99) .. "b"] = 2 t["b" .. ("a"):rep(99)] = 3 t[("a"):rep(50) .. "c" .. ("a"):rep(49)] = 4 local r = {} for k, v in pairs(t) do r[#r + 1] = v end return r
--
return {tostring(1e15), tostring(-1e15), tostring(123456789012), tostring(0.1), tostring(1/3), tostring(100), tostring(1e14), tostring(99999999999999), tostring(2^53), 1e15 .. "", 0.1 .. "", -0 .. "", 5 .. ""}
--
return {7 % 3, -7 % 3, 7 % -3, -7 % -3, tostring(5.5 % 2), tostring(-5.5 % 2), tostring(5 % math.huge), tostring(-5 % math.huge), tostring(1e15 % 7), "10" % "3"}
--
local r = {} for _, s in ipairs{"10", "0x10", " 10 ", "1e1", "10.0", "1e", "", "ten", "0x", "1 0", "inf", "nan", ".5", "5.", "0x1p4", "1e400", "-0"} do r[#r + 1] = tostring(tonumber(s)) .. "/" .. tostring(pcall(function() return s + 0 end)) end return r
--
local function f(...) return select("#", ...), ... end return {f(nil, nil), (f(1, 2)), f()}
--
local a = {} for i = 1, 3 do a[i] = function() i = i + 1 return i end end return {a[1](), a[1](), a[2](), a[3]()}
--
return {pcall(coroutine.running)}
--
error("x\ny")
--
error({err = "MY error"})
--
error({err = "MY error", extra = 1})
--
local ok, e = pcall(error, {err = "MY error"}) return {type(e), e}
--
local ok, e, x = pcall(error, {5}) return {type(e), tostring(x)}
--
return select("#", pcall(error, {5}))
--
return {xpcall(function() error({err = "E"}) end, function(e) return e.err end)}
--
local function g() error("x", 2) end local function f() return g() end local ok, e = pcall(f) return e
--
local function g() error("x", 1) end local function f() return g() end local ok, e = pcall(f) return e
--
local function g() error("x", 3) end local function f() return g() end local function h() f() end local ok, e = pcall(h) return e
--
local function g() error("x", 4) end local function f() return g() end local function h() f() end
local ok, e = pcall(h) return e
--
local function g() error("x", 2) end local function f() local r = g() return r end
local function h() return f() end
local ok, e = pcall(h) return e
--
local function f() return error("x") end
local ok, e = pcall(f) return e
--
local function f() return string.rep() end
local ok, e = pcall(f) return e
--
local function f() return ("x"):rep({}) end
f()
--
local t = setmetatable({}, {__index = function(t, k)
error("index " .. k, 2) end})
return t.a
--
local t = setmetatable({}, {__add = function(a, b)
error("add", 2) end})
local x =
t + 1
--
local t = setmetatable({}, {__call = function(self, a)
error("call " .. a, 2) end})
t(5)
--
table.sort({3, 2, 1}, function(a, b)
error("compare", 2) end)
--
string.gsub("abc", "b", function(c)
error("replace " .. c) end)
--
string.gsub("abc", "b", function(c) error("replace " .. c, 2) end)
--
local t = {} setmetatable(t, {__index = function(t, k) return t[k .. "x"] end}) local ok, e = pcall(function() return t.a end) return e
--
return {pcall(string.gsub, "abc", "(", "x")}
--
for i = 1, 3 do local ok, e = pcall(function() if i == 2 then error({code = i}) end error("n" .. i, 0) end) if type(e) == "table" then return {e.code} end end
--
local ok, e = xpcall(function() local x = nil; x.y = 1 end, function(m) return "[" .. m .. "]" end) return e
--
local ok, e = pcall(pcall, error, "x") return {tostring(ok), tostring(e)}
--
return {pcall(xpcall, function() error("x", 0) end, function(m) return m .. "!" end)}
--
local ok, e = pcall(loadstring("error('deep')", "@chunk")) return e
--
local f = loadstring("local a = ...\n\nreturn a.b.c", "=(part)") local ok, e = pcall(f, {}) return e
--
local f = loadstring("return 1 +", "x = 1\ny = 2") return {f, select(2, loadstring("return 1 +", "x = 1\ny = 2"))}
