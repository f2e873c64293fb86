return cjson.encode({1,2,3})
--
return cjson.encode({})
--
return cjson.encode({a=1,b=2,c={x=1}})
--
return cjson.encode({[1]=1,[2]=2,[4]=4})
--
return cjson.encode({[1]=1,[20]=2})
--
return cjson.encode({[1]=1,[3]=2})
--
return cjson.encode({[1]=1,x=2})
--
return cjson.encode({[1.5]=1})
--
return cjson.encode({[true]=1})
--
return {cjson.encode(1.5),cjson.encode("a\"b/\\\n\t\r\b\f\1\127\200"),cjson.encode(nil),cjson.encode(true),cjson.encode(false),cjson.encode(cjson.null)}
--
return cjson.encode(1/0)
--
return cjson.encode({a={b={0/0}}})
--
return cjson.encode(function() end)
--
local t={} t[1]=t return cjson.encode(t)
--
local t={} for i=1,1000 do t={t} end return #cjson.encode(t)
--
local t={} for i=1,999 do t={t} end return #cjson.encode(t)
--
return cjson.encode(1,2)
--
return cjson.encode()
--
return {cjson.encode(0.1),cjson.encode(1e15),cjson.encode(123456789012345),cjson.encode(-0.0),cjson.encode(1e100),cjson.encode(1/3)}
--
local t=cjson.decode('{"a":[1,2,{"b":null,"c":true,"d":false}],"e":"x","f":-1.5e2}') return {cjson.encode(t), tostring(t.f), t.e}
--
return {cjson.decode("null")==cjson.null, type(cjson.decode("null")), tostring(cjson.null)}
--
local r={} for _,s in ipairs{"1e3","0x10","01","-","nan","Infinity","-inf","","[1,2","{\"a\" 1}","{a:1}","[1,]","[1 2]","\"abc","\"a\\x\"","\"\\u00e9\\u20ac\\ud83d\\ude00\"","\"\\ud83d\"","\"\\u12\"","\"a\nb\"","true false","tru","\0","  1  ","{\"a\":1,}","{,}","[,]","]","}",":","{\"a\":}","{\"a\"}","{1:2}","+5","+","1.5.5","1e","1e+","0x","- 1","nul","nulll","\"\\","\"\\u","[\"\\ud83d\\u0041\"]","[\"\\udc00\"]","{}x","[1]\0x","\0\0","a\0","[[],{}]","  ","i","n","I","N","NaN","inf","nan(5)","-nan","/","'a'","1 ","\"a\tb\"","[\"a\\/b\"]"} do
local ok,v=pcall(cjson.decode,s) r[#r+1]=type(v)=="table" and cjson.encode(v) or tostring(v) end return r
--
return tostring(cjson.decode(("["):rep(1001)..("]"):rep(1001)))
--
return type(cjson.decode(("["):rep(1000)..("]"):rep(1000)))
--
return type(cjson.decode(('{"a":'):rep(1000).."1"..("}"):rep(1000)))
--
return cjson.decode(5)
--
return cjson.decode({})
--
return cjson.decode()
--
return cjson.decode("1","2")
--
local a,b,c=cjson.encode_sparse_array() return {tostring(a),b,c}
--
return {cjson.encode_max_depth(), cjson.decode_max_depth(), cjson.encode_number_precision(), tostring(cjson.encode_keep_buffer()), tostring(cjson.encode_invalid_numbers()), tostring(cjson.decode_invalid_numbers())}
--
return cjson.encode_number_precision(20)
--
return cjson.encode_max_depth(0)
--
return cjson.encode_max_depth(1,2)
--
return cjson.encode_invalid_numbers("maybe")
--
return cjson.encode_invalid_numbers({})
--
local j=cjson.new() return {type(j), j.encode({1}), j._NAME, j.null==cjson.null}
--
local j=cjson.new() j.encode_sparse_array(true) return {j.encode({[1]=1,[20]=2}), (select(2,pcall(cjson.encode,{[1]=1,[20]=2})))}
--
local j=cjson.new() j.encode_sparse_array(false,0) return #j.encode({[1]=1,[200]=2})
--
local j=cjson.new() j.encode_number_precision(3) return {j.encode(1/3),j.encode(12345),j.encode(1e10),j.encode(0),j.encode(-0.0),j.encode(100)}
--
local j=cjson.new() j.encode_invalid_numbers(true) return {j.encode(0/0),j.encode(1/0),j.encode(-1/0),tostring(j.encode_invalid_numbers("null")),j.encode(1/0)}
--
local j=cjson.new() j.decode_invalid_numbers(false) local r={} for _,s in ipairs{"nan","0x1","01","+1","-inf","inf","-0","0.5","-01"} do r[#r+1]=tostring((select(2,pcall(j.decode,s)))) end return r
--
local j=cjson.new() j.encode_max_depth(2) j.decode_max_depth(2) return {(select(2,pcall(j.encode,{{{}}}))), (select(2,pcall(j.decode,"[[[]]]")))}
--
local j=cjson.new() j.encode_max_depth(100000) local t={} for i=1,7000 do t={t} end return #j.encode(t)
--
return cjson._VERSION
--
return cjson.encode(setmetatable({},{__index={1}}))
--
return {cjson.encode({[0]=1}), cjson.encode({[-1]=1,[1]=2}), cjson.encode({1,2,nil,4}), cjson.encode({nil,nil,nil}), cjson.encode({x={},y={1}}), cjson.encode({["10"]=1,[10]=2}), cjson.encode({[1e100]=1})}
--
local ok,e=pcall(cjson.encode,{[{}]=1}) return e
--
return cjson.decode("{\"1\":5}")["1"]
--
return cjson.decode("[\"a\\u0000b\"]")[1]
--
return {cjson.encode("\226\130\172"), cjson.encode({["a\0b"]="c\0d"})}
--
local t={} for i=1,100 do t["key"..i]=i end return cjson.encode(t)
--
local t={} for w in ("the quick brown fox jumps over the lazy dog and runs away"):gmatch("%a+") do t[w]=#w end t.fox=nil return cjson.encode(t)
--
return cjson.encode(cjson.decode('{"z":1,"y":2,"x":{"w":[],"v":{}},"u":[1,[2,[3]]],"t":"\\u0041","s":1.0,"r":12345678901234567890}'))
--
return tostring(cjson.decode('[12345678901234567890,0.1,1e-7,123456.789e3]')[1])
