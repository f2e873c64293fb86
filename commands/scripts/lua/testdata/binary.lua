return struct.pack("Bc0I", 3, "abc", 7)
--
return {struct.unpack("Bc0I", struct.pack("Bc0I", 3, "abc", 7))}
--
return {struct.size("s")}
--
return {struct.size("c0")}
--
return {struct.size("!8bd"), struct.size("bd"), struct.size("!4bd"), struct.size("c5"), struct.size("z"), struct.size("i3"), struct.size("lLThHfd x")}
--
return {struct.size("i33")}
--
return {struct.size("i99999999999")}
--
return {struct.size("!3")}
--
return {struct.size("!0b")}
--
return {struct.size("?")}
--
return struct.pack("z",1)
--
return struct.pack("b")
--
return struct.pack("b","x")
--
return struct.pack("c5","abc")
--
return struct.pack("s","a\0b")
--
return {struct.pack(">I","258"), struct.pack("<I2",-1), struct.pack(">i8",-2), struct.pack("i16",-1), struct.pack(">i16",5), struct.pack("I",1e10), struct.pack("l",2^63), struct.pack("l",-2^63), struct.pack("L",1e300)}
--
local r={} for _,v in ipairs({struct.unpack("<i3I3>hHlLbB","\1\2\255\1\2\255\128\1\128\1\255\255\255\255\255\255\255\254\255\255\255\255\255\255\255\254\255\255")}) do r[#r+1]=tostring(v) end return r
--
local r={} for _,v in ipairs({struct.unpack("fd",struct.pack("fd",1.5,0.1))}) do r[#r+1]=tostring(v) end return r
--
local r={} for _,v in ipairs({struct.unpack(">fd",struct.pack(">fd",0.1,0/0))}) do r[#r+1]=tostring(v) end return r
--
return {struct.unpack("s","abc\0def")}
--
return {struct.unpack("s","abc")}
--
return {struct.unpack("c0","abc")}
--
return {struct.unpack("Bc0","\5abc")}
--
return {struct.unpack("I","abc")}
--
return {struct.unpack("I","abcdefgh",5)}
--
return {struct.unpack("I","abcdefgh",6)}
--
return {struct.unpack("I","abcdefgh",0)}
--
return {struct.unpack("b","a",3)}
--
return {struct.unpack("","a",3)}
--
return {struct.unpack("!4bI","a\0\0\0\1\0\0\0")}
--
return {struct.unpack(("b"):rep(7990),("x"):rep(7990))} and 1
--
return #{struct.unpack(("b"):rep(8100),("x"):rep(8100))}
--
return {struct.unpack("i16",("\255"):rep(16))}
--
return {struct.unpack("i9",("\1"):rep(9))}
--
return struct.pack("i0",5)
--
return {struct.unpack("i0","")}
--
return {bit.band(0xff,0x0f),bit.bor(1,2,4),bit.bxor(5,3),bit.bnot(0),bit.lshift(1,31),bit.rshift(-1,28),bit.arshift(-16,2),bit.rol(0x12345678,8),bit.ror(0x12345678,8),bit.bswap(0x12345678)}
--
return {bit.tohex(255),bit.tohex(255,4),bit.tohex(255,-4),bit.tohex(-1,100),bit.tohex(1,0),bit.tohex(1,-100)}
--
return {bit.tobit(2^32+5),bit.tobit(1.5),bit.tobit(2.5),bit.tobit(-0.5),bit.tobit(2^53),bit.tobit(1e300),bit.tobit(0/0),bit.tobit("12"),bit.tobit(4294967295),bit.tobit(2^51+1)}
--
return bit.lshift(1)
--
return bit.lshift(1,33)
--
return bit.band({})
--
return bit.bnot("x")
--
return bit.tohex(1,{})
