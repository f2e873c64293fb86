local s = ('['):rep(900) .. (']'):rep(900) while true do cjson.decode(s) end
