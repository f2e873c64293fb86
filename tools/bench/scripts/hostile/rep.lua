while true do local s = ('x'):rep(10000) end
