module tabbat.example/verify

go 1.19
