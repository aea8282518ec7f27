-- Makes the caller the only one who may change the records of an event.
-- KEYS[1] the head, a hash {term, id, seq, format}; it expires ARGV[3] after the last commit, which is renewed by each.
-- ARGV[1] term, ARGV[2] id of the caller
-- ARGV[3] life of the keys, ms
-- ARGV[4] the newest format of records that the caller knows; a new event gets it
-- Reply {1, seq, format}: the commits so far, and in which format the records are; {0, term, 0}: a later leader has the event;
-- {3, format, 0}: the records are in a format that the caller does not know, and nothing is changed.
-- claim(3, a, 604800000, 1) -> {1, 0, 1}
assert(#KEYS == 1 and #ARGV == 4, 'claim: 1 key, 4 arguments')

local head = redis.call('HMGET', KEYS[1], 'term', 'id', 'seq', 'format')
local term, mine, known = tonumber(head[1] or 0), tonumber(ARGV[1]), tonumber(ARGV[4])
-- Before it was written down there was only the first.
local format = tonumber(head[4] or head[1] and 1 or known)
if format < 1 or format > known then return {3, format, 0} end
if term > mine or (term == mine and head[2] ~= ARGV[2]) then return {0, term, 0} end
redis.call('HSET', KEYS[1], 'term', ARGV[1], 'id', ARGV[2], 'seq', head[3] or '0', 'format', format)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, tonumber(head[3] or 0), format}
