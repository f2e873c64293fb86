local s = '' while true do s = s .. 'some more text' end
