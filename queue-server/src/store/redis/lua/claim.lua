-- Makes the caller the only one who may change the records of an event.
-- KEYS[1] the head, a hash {term, id, seq}; it expires ARGV[3] after the last commit, which is renewed by each.
-- ARGV[1] term, ARGV[2] id of the caller
-- ARGV[3] life of the keys, ms
-- Reply {1, seq}: the commits so far; {0, term}: a later leader has the event.
-- claim(3, a, 604800000) -> {1, 0}
assert(#KEYS == 1 and #ARGV == 3, 'claim: 1 key, 3 arguments')

local head = redis.call('HMGET', KEYS[1], 'term', 'id', 'seq')
local term, mine = tonumber(head[1] or 0), tonumber(ARGV[1])
if term > mine or (term == mine and head[2] ~= ARGV[2]) then return {0, term} end
redis.call('HSET', KEYS[1], 'term', ARGV[1], 'id', ARGV[2], 'seq', head[3] or '0')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, tonumber(head[3] or 0)}
