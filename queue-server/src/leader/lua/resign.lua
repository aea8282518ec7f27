-- Gives the lease on leading up, so that another one takes it at once.
-- KEYS[1] the lease, as in lead.lua
-- ARGV[1] id of the caller
-- Reply 1: given up; 0: the caller had none.
-- resign(a) -> 1
assert(#KEYS == 1 and #ARGV == 1, 'resign: 1 key, 1 argument')

local lease = redis.call('GET', KEYS[1])
if not lease or string.match(lease, '^%d+ (%S+) ') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
