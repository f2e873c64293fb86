while true do pcall(error, 'again') end
