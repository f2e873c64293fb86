module limiters-test

go 1.26.0
