while true do string.find(('a'):rep(50), ('a?'):rep(50) .. ('a'):rep(50)) end
